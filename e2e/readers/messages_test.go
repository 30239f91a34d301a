package readers

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// rowsOf is a source with a table of a key, a version and a wide column.
type rowsOf [][]string

func (rowsOf) columns(context.Context, string) ([]column, error) {
	return []column{{name: "id", key: 1}, {name: "version"}, {name: "body"}}, nil
}

func (s rowsOf) rows(_ context.Context, _ string, _ []column, fn func([]Text) error) error {
	for _, r := range s {
		if err := fn([]Text{&r[0], &r[1], &r[2]}); err != nil {
			return err
		}
	}
	return nil
}

// TestFold: messages that could have come give the source's rows, and each way in which
// they could not is seen. A message is "op id version body [oldkey]", "-" for a tombstone.
func TestFold(t *testing.T) {
	for name, c := range map[string]struct {
		messages string
		lsns     []int // of the messages, by default they count up
		want     string
	}{
		"good":             {"r 1 1 a|u 1 2 b|c 2 1 x|d 2|-2", nil, "0 0 0 0 0"},
		"again":            {"c 2 1 x|d 2|-2|c 1 1 a|d 1|-1|c 1 2 b", nil, "0 0 0 0 0"},
		"unsent":           {"r 1 1 b|u 1 2 __debezium_unavailable_value", nil, "0 0 0 0 0"},
		"unsent, new key":  {"r 7 1 b|d 7|-7|c 1 2 __debezium_unavailable_value 7", []int{1, 2, 2, 2}, "0 0 0 0 0"},
		"unsent, no row":   {"u 1 2 __debezium_unavailable_value", nil, "0 0 1 0 0"},
		"lost row":         {"", nil, "1 0 0 0 0"},
		"lost change":      {"r 1 1 a|u 1 3 b", nil, "0 0 1 0 1"},
		"lost last change": {"r 1 1 a", nil, "0 0 1 0 0"},
		"lost delete":      {"r 1 1 b|u 1 2 b|c 2 1 x", nil, "0 1 0 0 0"},
		"doubled":          {"r 1 1 a|u 1 2 b|u 1 2 b", []int{1, 2, 2}, "0 0 0 1 1"},
		"read twice":       {"r 1 1 a|u 1 2 b|r 1 2 b", nil, "0 0 0 1 0"},
		"created twice":    {"c 1 2 b|c 1 2 b", nil, "0 0 0 0 1"},
		"no tombstone":     {"c 2 1 x|d 2|c 1 2 b", nil, "0 0 0 0 1"},
		"stray tombstone":  {"c 1 2 b|-1", nil, "0 0 0 0 1"},
		"behind snapshot":  {"u 1 2 b", []int{10_000_000}, "0 0 0 0 1"},
	} {
		source := rowsOf{{"1", "2", "b"}}
		columns, _ := source.columns(t.Context(), "")
		f := newTopicFold("t", columns, time.UnixMicro(1_000_000))
		for i, text := range strings.FieldsFunc(c.messages, func(r rune) bool { return r == '|' }) {
			lsn := i + 1
			if i < len(c.lsns) {
				lsn = c.lsns[i]
			}
			if err := f.message(messageOf(text, lsn)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.finish(t.Context(), source, "t"); err != nil {
			t.Fatal(err)
		}
		m := f.out
		if got := fmt.Sprint(m.Missing, m.Extra, m.Different, m.Doubled, m.Broken); got != c.want {
			t.Errorf("%s: missing, extra, different, doubled, broken are %s, want %s: %s", name, got, c.want, m)
		}
	}
}

func messageOf(text string, lsn int) Message {
	key := func(id string) Text { s := `{"id":` + id + `}`; return &s }
	if id, ok := strings.CutPrefix(text, "-"); ok {
		return Message{Key: key(id)}
	}
	parts := strings.Fields(text)
	after := "null"
	if parts[0] != "d" {
		after = fmt.Sprintf(`{"id":%s,"version":%s,"body":%q}`, parts[1], parts[2], parts[3])
	}
	value := fmt.Sprintf(`{"op":%q,"after":%s,"source":{"lsn":%d,"ts_us":%d}}`, parts[0], after, lsn, lsn)
	m := Message{Key: key(parts[1]), Value: &value}
	if len(parts) > 4 {
		m.Headers = "__debezium.oldkey:" + *key(parts[4])
	}
	return m
}

// TestWire: values of messages become what the database prints.
func TestWire(t *testing.T) {
	for _, c := range []struct {
		wire      wire
		raw, want string
	}{
		{asText, `"a\"b"`, `a"b`}, {asText, `12.50`, `12.50`}, {asText, `true`, `true`}, {asBoolean, `0`, `false`}, {asBoolean, `1`, `true`},
		{asUnsigned, `-1`, `18446744073709551615`}, {asDays, `-1`, `1969-12-31`}, {asMicros, `1500000`, `1970-01-01T00:00:01.500000`},
		{asMicrosOfDay, `-3661000001`, `-01:01:01.000001`}, {asInstant, `"2020-02-02T02:02:02.2Z"`, `2020-02-02T02:02:02.200000`}, {asBits, `"AQI="`, `0102`},
	} {
		got, err := column{wire: c.wire}.fromMessage([]byte(c.raw))
		if err != nil || got == nil || *got != c.want {
			t.Errorf("%s as %d: %v, %v, want %s", c.raw, c.wire, got, err, c.want)
		}
	}
	if v, err := (column{wire: asDays}).fromMessage([]byte("null")); v != nil || err != nil {
		t.Error(v, err)
	}
}

// TestConsumerLines: what the console consumer prints is taken apart, and what it says of
// itself is left alone.
func TestConsumerLines(t *testing.T) {
	m, ok, err := parseMessage("Partition:2\tOffset:17\tNO_HEADERS\t{\"id\":1}\t<null>")
	if !ok || err != nil || m.Partition != 2 || m.Offset != 17 || m.Headers != "" || *m.Key != `{"id":1}` || m.Value != nil {
		t.Errorf("%+v %v %v", m, ok, err)
	}
	m, ok, err = parseMessage("Partition:0\tOffset:0\ta:b\t<null>\t{\"x\":\"\\t\"}")
	if !ok || err != nil || m.Headers != "a:b" || m.Key != nil || *m.Value != `{"x":"\t"}` {
		t.Errorf("%+v %v %v", m, ok, err)
	}
	if _, ok, err := parseMessage("The consumer rebalance protocol is recommended"); ok || err != nil {
		t.Error(ok, err)
	}
}

// TestFoldKeyless: a table without a key may be read again from its beginning, but no
// change may come again.
func TestFoldKeyless(t *testing.T) {
	columns := []column{{name: "id"}, {name: "version"}, {name: "body"}}
	for messages, want := range map[string]string{
		"r 1 1 a|r 1 1 a|c 2 1 x": "0 0 0 1",
		"c 2 1 x|r 1 1 a|r 2 1 x": "0 0 0 1",
		"r 1 1 a|c 2 1 x|c 2 1 x": "0 1 0 0",
		"r 1 1 a|c 1 1 a|c 2 1 x": "0 1 0 0",
		"r 1 1 a":                 "1 0 0 0",
	} {
		f := newTopicFold("t", columns, time.Time{})
		for i, text := range strings.Split(messages, "|") {
			m := messageOf(text, i+1)
			m.Key = nil
			if err := f.message(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.finish(t.Context(), rowsOf{{"1", "1", "a"}, {"2", "1", "x"}}, "t"); err != nil {
			t.Fatal(err)
		}
		if m := f.out; fmt.Sprint(m.Missing, m.Extra, m.Broken, m.Again) != want {
			t.Errorf("%s: %s, want %s", messages, m, want)
		}
	}
}
