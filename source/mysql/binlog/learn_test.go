package binlog

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// values returns the rows without their version and numbers.
func (p *played) values(from uint64) []string {
	var out []string
	for _, c := range p.changes {
		if text, _, row := strings.Cut(c.text, " #"); row && c.start >= from {
			out = append(out, c.table+" "+text)
		}
	}
	return out
}

// TestLearn: without a definition, or with one of another time, a table is known from
// what the log says of it.
func TestLearn(t *testing.T) {
	l := capturedLog(t, "mysql97").untilStatement()
	o := testOptions(false)
	whole := play(t, l.dump(FirstOffset), o, slowly)
	var from saved // behind the last CREATE TABLE
	for _, c := range whole.checkpoints() {
		if c.position&maxOffset > 5000 && c.position&maxOffset < 5600 && from.position == 0 {
			from = c
		}
	}
	r := from.restore(t, o)
	wrong := ddl.Definition{ID: mustTable(t, from.catalog, "small").ID,
		Columns: []ddl.Column{{Definition: value.Definition{Name: "id", ColumnType: "varchar(3)", Charset: "utf8mb4"}}}}
	for name, tables := range map[string][]ddl.Definition{"missing": nil, "wrong": {wrong}} {
		t.Run(name, func(t *testing.T) {
			r.Catalog = ddl.NewCatalog(o.Catalog.Options(), from.catalog.Databases(), tables)
			if p := play(t, l.dump(r.Start.Offset), r, nil); !errors.Is(p.err, ErrDefinition) {
				t.Errorf("without being allowed to: %v", p.err)
			}
			r := r
			r.LearnBefore = 1 << 62
			p := play(t, l.dump(r.Start.Offset), r, nil)
			if p.err != nil {
				t.Fatal(p.err)
			}
			got, want := p.values(0), whole.values(from.position)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			small := mustTable(t, p.groups[len(p.groups)-1].Catalog, "small")
			if len(small.PrimaryKey) != 1 || small.PrimaryKey[0] != "id" || len(small.Columns) != 5 {
				t.Errorf("%+v", small)
			}
		})
	}
}

func mustTable(t *testing.T, c *ddl.Catalog, name string) *schema.Table {
	t.Helper()
	table, ok := c.Table(schema.TableID{Schema: "d", Table: name})
	if !ok {
		t.Fatalf("no table %s", name)
	}
	return table
}
