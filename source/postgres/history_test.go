package postgres

import (
	"errors"
	"strings"
	"testing"
)

// TestResume: where the log goes on behind a failover, and where it can't.
func TestResume(t *testing.T) {
	switches := []timelineSwitch{{1, 0x100}, {2, 0x200}}
	for _, c := range []struct {
		name             string
		saved            history
		position, commit uint64
		now              history
		want             uint64
		problem          string
	}{
		{"an old state", history{}, 0x150, 0x150, history{"a", 3}, 0x150, ""},
		{"no failover", history{"a", 3}, 0x250, 0x250, history{"a", 3}, 0x250, ""},
		{"everything had reached the standby", history{"a", 2}, 0x200, 0x1f0, history{"a", 3}, 0x200, ""},
		{"only a keepalive had not", history{"a", 2}, 0x210, 0x1f0, history{"a", 3}, 0x200, ""},
		{"a commit at the switch", history{"a", 2}, 0x210, 0x200, history{"a", 3}, 0x200, ""},
		{"a commit was lost", history{"a", 2}, 0x210, 0x201, history{"a", 3}, 0, "the failover lost them"},
		{"two failovers", history{"a", 1}, 0x110, 0x90, history{"a", 3}, 0x100, ""},
		{"two failovers, a commit was lost", history{"a", 1}, 0x110, 0x110, history{"a", 3}, 0, "timeline 1 was left at 0/100"},
		{"another cluster", history{"b", 1}, 0x50, 0x50, history{"a", 3}, 0, "system identifier"},
		{"the old primary", history{"a", 4}, 0x50, 0x50, history{"a", 3}, 0, "from before a failover"},
		{"another branch", history{"a", 2}, 0x50, 0x50, history{"a", 7}, 0x50, ""},
	} {
		got, err := resume(c.saved, c.position, c.commit, c.now, switches)
		switch {
		case c.problem == "" && (err != nil || got != c.want):
			t.Errorf("%s: %X, %v, want %X", c.name, got, err, c.want)
		case c.problem != "" && (!errors.Is(err, ErrHistory) || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s: %v, want %s", c.name, err, c.problem)
		}
	}
	if _, err := resume(history{"a", 3}, 1, 1, history{"a", 4}, switches); !errors.Is(err, ErrHistory) || !strings.Contains(err.Error(), "does not come from") {
		t.Errorf("a branch that the server did not come by: %v", err)
	}
}

func TestParseTimelines(t *testing.T) {
	got, err := parseTimelines([]byte("# comment\n1\t0/30000A0\tno recovery target specified\n\n2\tA/FF\tbefore 2026-11-30\n"))
	if err != nil || len(got) != 2 || got[0] != (timelineSwitch{1, 0x30000A0}) || got[1] != (timelineSwitch{2, 0xA<<32 | 0xFF}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"x", "1", "1 2", "-1 0/1", "1 FFFFFFFFF/1"} {
		if _, err := parseTimelines([]byte(bad)); !errors.Is(err, errProtocol) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzParseTimelines: the server sends the file as it lies in its folder.
func FuzzParseTimelines(f *testing.F) {
	f.Add([]byte("1\t0/30000A0\tno recovery target specified\n"))
	f.Add([]byte("# x\n\n99999999999999999999 0/0"))
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := parseTimelines(content)
		for _, s := range got {
			if s.Timeline < 1 || err != nil {
				t.Errorf("%v, %v", s, err)
			}
		}
	})
}
