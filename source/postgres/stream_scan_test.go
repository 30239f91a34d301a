package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/window"
)

// scanScript drives a scanner and a decoder by hand, as groupReader does.
type scanScript struct {
	t       *testing.T
	tables  map[string]*schema.Table // t and u are captured, p too, in partitions; x is not
	reports *reports
	scan    *scanner
	mem     *memory.CheckedAllocator
	dec     *decoder
	buf     frames
	at      int
	out     strings.Builder
}

func newScanScript(t *testing.T) *scanScript {
	s := &scanScript{t: t, mem: memory.NewCheckedAllocator(memory.DefaultAllocator), reports: newReports()}
	table := func(oid uint64, name string) *schema.Table {
		t := &schema.Table{ID: schema.TableID{Schema: "public", Table: name}, PrimaryKey: []string{"id"}, SourceID: oid, Version: 1,
			Columns: []schema.Column{builtin("id", 23, "int4", -1), builtin("v", 25, "text", -1)}}
		t.Columns[0].Ordinal, t.Columns[1].Ordinal = 1, 2
		return t
	}
	s.tables = map[string]*schema.Table{"t": table(1, "t"), "u": table(2, "u"), "p": table(4, "p"), "x": {ID: schema.TableID{Schema: "public", Table: "x"}, SourceID: 3}}
	r := testResolver(s.tables["t"], s.tables["u"], s.tables["p"])
	r.below = func(m relationMessage, t *schema.Table) (bool, error) { return m.oid >= 40, nil }
	r.partial[4] = false
	s.scan = &scanner{resolve: r.resolve, recheck: r.recheck, leaf: r.leaf, truncated: r.truncated, due: s.reports.take, compare: r.compare}
	s.dec = newDecoder(s.mem, textOptions{})
	return s
}

// write adds the frames that a line describes.
func (s *scanScript) write(line string) {
	f := strings.Fields(line)
	number := func(i int) (n uint64) {
		if _, err := fmt.Sscan(f[i], &n); err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	oids := map[string]uint32{"t": 1, "u": 2, "x": 3, "p": 4}
	switch f[0] {
	case "begin":
		s.buf.begin(uint32(number(1)), number(2))
	case "commit":
		s.buf.commit(number(1)-5, number(1))
	case "keepalive":
		s.buf.keepalive(number(1), 0)
	case "relation":
		s.buf.relation(s.tables[f[1]])
	case "identity": // of what the next lines announce
		s.buf.identity, s.buf.keyed = f[1][0], f[2:]
	case "leaf": // oid
		s.buf.relation(&schema.Table{ID: schema.TableID{Schema: "public", Table: "p" + f[1]}, SourceID: number(1), Columns: s.tables["p"].Columns})
	case "report": // high, table and the comment that its column v has then
		info := &tableInfo{Schema: s.tables[f[2]].Clone(), Identity: 'd', Kind: map[bool]byte{true: 'p', false: 'r'}[f[2] == "p"]}
		info.Schema.Columns[1].Comment = f[3]
		s.reports.put(&catalogueReport{ticket: s.reports.request(), high: number(1), sees: window.Snapshot{Xmin: 1 << 40, Xmax: 1 << 40}, tables: map[uint32]*tableInfo{oids[f[2]]: info}})
	case "truncate":
		s.buf.wal([]byte{outTruncate, 0, 0, 0, 1, 0, 0, 0, 0, byte(oids[f[1]])})
	case "insert":
		s.buf.row(outInsert, oids[f[1]], f[2], f[3])
	case "update":
		s.buf.row(outUpdate, oids[f[1]], f[2], f[3])
	case "delete":
		s.buf.row(outDelete, oids[f[1]], f[2], "NULL")
	default:
		s.t.Fatalf("unknown line %q", line)
	}
}

// run scans what was written; groups are printed as they are cut.
func (s *scanScript) run() error {
	for {
		f, _, ok, err := nextFrame(s.buf.buf[s.at:])
		if err != nil || !ok {
			return err
		}
		v, err := s.scan.frame(f, s.at)
		if err != nil {
			return err
		}
		if v != cutBefore {
			s.at += f.size
		}
		if v != goOn {
			s.cut(s.at, s.scan.take(s.at))
		}
	}
}

// cut decodes and prints a group.
func (s *scanScript) cut(at int, g *rawGroup) {
	g.buf = s.buf.buf[:at]
	s.buf.buf, s.at = append([]byte(nil), s.buf.buf[at:]...), 0
	d := s.dec.decode(g)
	if d.err != nil {
		fmt.Fprintf(&s.out, "error: %v\n", d.err)
		return
	}
	defer d.group.release()
	fmt.Fprintf(&s.out, "group position=%d xids=%v in-transaction=%v carry=%d begun=%v\n", d.group.Position, d.group.XIDs, d.group.InTransaction, d.ordinals, d.begun)
	for _, r := range d.group.Rows {
		b := r.Batch
		fmt.Fprintf(&s.out, "  %s", b.Table.ID.Table)
		for i := range b.Rows() {
			fmt.Fprintf(&s.out, " %c%s#%d", b.Op(i), b.Record.Column(0).ValueStr(i), b.Ordinals[i])
		}
		for _, tx := range b.Txs {
			fmt.Fprintf(&s.out, " [%d rows of %d at %d]", tx.Rows, tx.ID, tx.Commit)
		}
		s.out.WriteString("\n")
	}
	for _, c := range d.group.Changes {
		fmt.Fprintf(&s.out, "  %s %s", c.Kind, c.Table.Table)
		for _, col := range c.Columns {
			fmt.Fprintf(&s.out, " %s: %s", col.Name, col.Comment)
		}
		s.out.WriteString("\n")
	}
	if r := d.group.Report; r != nil {
		fmt.Fprintf(&s.out, "  report of %d\n", r.high)
	}
	if len(d.head) > 0 {
		fmt.Fprintf(&s.out, "  %d batches go on in an earlier transaction\n", len(d.head))
	}
}

// TestScan runs testdata/scan: frames in, groups out. "cut" ends a group at the
// last place outside a transaction, "cut here" where the scanner stands.
func TestScan(t *testing.T) {
	datadriven.Walk(t, "testdata/scan", func(t *testing.T, path string) {
		s := newScanScript(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			for line := range strings.Lines(d.Input) {
				s.write(strings.TrimSpace(line))
			}
			if err := s.run(); err != nil {
				return "error: " + err.Error() + "\n"
			}
			switch {
			case d.Cmd == "cut" && d.HasArg("here"):
				s.cut(s.at, s.scan.take(s.at))
			case d.Cmd == "cut":
				if at := s.scan.cutPoint(); at > 0 {
					s.cut(at, s.scan.takeTo(at, s.at))
				} else {
					s.out.WriteString("nothing to cut\n")
				}
			}
			return s.out.String()
		})
		s.dec.release()
		s.mem.AssertSize(t, 0)
	})
}

// FuzzScan: whatever the other side sends ends in groups or an error.
func FuzzScan(f *testing.F) {
	seed := ordersFrames(ordersTable(), 20)
	f.Add(seed.buf)
	seed.keepalive(99, 1)
	f.Add(seed.buf)
	f.Fuzz(func(t *testing.T, data []byte) {
		table := ordersTable()
		table.ID.Table = "p"
		r := testResolver(table)
		r.below = func(relationMessage, *schema.Table) (bool, error) { return true, nil }
		commented := table.Clone()
		commented.Columns[1].Comment = "new"
		looks := newReports()
		looks.put(&catalogueReport{high: 1, tables: map[uint32]*tableInfo{uint32(table.SourceID): {Schema: commented, Kind: 'p', Identity: 'd'}}})
		s := &scanner{resolve: func(m relationMessage, tx transaction) (*relation, []*schema.Change, error) {
			if m.oid == 16384 && !sameDefinition(table, m) {
				return nil, nil, ErrSchemaChange
			}
			return r.resolve(m, tx)
		}, leaf: r.leaf, truncated: r.truncated, due: looks.take, compare: r.compare}
		d := newDecoder(memory.DefaultAllocator, textOptions{})
		defer d.release()
		at := 0
		for {
			fr, _, ok, err := nextFrame(data[at:])
			if err != nil || !ok {
				break
			}
			v, err := s.frame(fr, at)
			if err != nil {
				return
			}
			if v != goOn {
				break
			}
			at += fr.size
		}
		g := s.take(at)
		g.buf = data[:at]
		if out := d.decode(g); out.err == nil {
			out.group.release()
		}
	})
}
