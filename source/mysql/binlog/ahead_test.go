package binlog

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
)

// TestAhead: a stream that only looks decodes nothing, says where tables have rows, and
// follows statements as any other; one that passes over tables without a definition
// goes on behind their rows.
func TestAhead(t *testing.T) {
	o := testOptions(false)
	l := capturedLog(t, "mysql97").untilStatement()
	whole := play(t, l.dump(FirstOffset), o, slowly)
	first := map[string]uint64{}
	for _, c := range whole.changes {
		if !strings.Contains(c.text, " #") {
			continue // a statement
		}
		if first[c.table] == 0 {
			first[c.table] = c.start
		}
	}
	seen := map[string]uint64{}
	look := o
	look.Ahead = func(id schema.TableID, pos uint64) {
		if seen[id.Table] == 0 {
			seen[id.Table] = pos
		}
	}
	ahead := play(t, l.dump(FirstOffset), look, nil)
	if ahead.err != nil || len(ahead.values(0)) != 0 || len(ahead.groups) == 0 {
		t.Fatalf("%d changes, %v", len(ahead.values(0)), ahead.err)
	}
	last := ahead.groups[len(ahead.groups)-1]
	if want := whole.groups[len(whole.groups)-1]; last.Position != want.Position || len(last.Catalog.Tables("d")) != len(want.Catalog.Tables("d")) {
		t.Errorf("it ends at %d, not at %d", last.Position, want.Position)
	}
	for name, start := range first {
		if pos := seen[name]; pos <= start || pos > start+100_000 {
			t.Errorf("table %s: rows at %d of a transaction at %d", name, pos, start)
		}
	}
	passed := o
	passed.Passed = func(schema.TableID) bool { return true }
	checkpoints := whole.checkpoints()
	r := checkpoints[len(checkpoints)/2].restore(t, passed)
	r.Catalog = ddl.NewCatalog(o.Catalog.Options(), nil, nil)
	if p := play(t, l.dump(r.Start.Offset), r, nil); p.err != nil || p.groups[len(p.groups)-1].Position != last.Position {
		t.Errorf("without definitions: %v", p.err)
	}
	r.Passed = nil
	if p := play(t, l.dump(r.Start.Offset), r, nil); !errors.Is(p.err, ErrDefinition) {
		t.Errorf("without definitions, and not to be passed over: %v", p.err)
	}
}
