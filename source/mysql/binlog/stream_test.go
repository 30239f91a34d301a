package binlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// testOptions begin with an empty server.
func testOptions(mariadb bool) Options {
	o := value.Options{MariaDB: mariadb, Time: value.TimeText}
	return Options{Values: o, Catalog: ddl.NewCatalog(ddl.Options{MariaDB: mariadb, Version: 80036, ServerCollation: "utf8mb4_0900_ai_ci", OmitsUnchanged: true, Value: o}, nil, nil),
		Captured: func(id schema.TableID) bool { return id.Schema == "d" }, KeylessUpdates: true, ResolvesUnchanged: true, Before: true, Decoders: 2}
}

// change is one row or effect of a stream, as text, with the place where its
// transaction begins.
type change struct {
	table string
	start uint64
	text  string
}

// played is what a stream has given.
type played struct {
	changes  []change
	groups   []*Group // without rows
	err      error
	position uint64
	gtids    GTIDSet
	// positions of all rows
	positions []uint64
}

// play runs a stream over recorded packets to its end.
func play(t testing.TB, data []byte, o Options, piece func() int) *played {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	o.Allocator = mem
	ctx, cancel := context.WithCancel(context.Background())
	s := start(ctx, cancel, &recorded{data: data, piece: piece}, o)
	p := &played{}
	for g := range s.Groups() {
		p.group(g)
	}
	p.err = s.Err()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if errors.Is(p.err, io.EOF) {
		p.err = nil
	}
	mem.AssertSize(t, 0)
	return p
}

func (p *played) group(g *Group) {
	for _, r := range g.Rows {
		p.batch(r)
	}
	for _, e := range g.Effects {
		p.changes = append(p.changes, change{table: e.Table.Table, start: e.Position, text: effectText(e)})
	}
	if g.Position != 0 {
		p.position = g.Position
	}
	for _, gtid := range g.GTIDs {
		p.gtids.Add(gtid)
	}
	g.Release()
	g.Rows = nil
	p.groups = append(p.groups, g)
}

func (p *played) batch(r Rows) {
	b := r.Batch
	p.positions = append(p.positions, b.Positions...)
	tx, left := -1, 0
	for i := range b.Rows() {
		for left == 0 {
			tx++
			left = b.Txs[tx].Rows
		}
		left--
		var s strings.Builder
		fmt.Fprintf(&s, "%c", b.Op(i))
		for c := range b.Record.NumCols() {
			fmt.Fprintf(&s, " %s", b.Record.Column(int(c)).ValueStr(i))
		}
		if b.Before != nil && b.Op(i) != schema.OpInsert {
			s.WriteString(" before")
			for c := range b.Before.NumCols() {
				fmt.Fprintf(&s, " %s", b.Before.Column(int(c)).ValueStr(i))
			}
		}
		for _, u := range b.Unchanged {
			if int(u.Row) == i {
				fmt.Fprintf(&s, " unchanged:%d", u.Column)
			}
		}
		fmt.Fprintf(&s, " #%d of %d, %d, v%d", b.Ordinals[i], b.Txs[tx].ID, b.Positions[i]&maxOffset, b.Table.Version)
		p.changes = append(p.changes, change{table: b.Table.ID.Table, start: b.Txs[tx].Commit, text: s.String()})
	}
}

func effectText(e ddl.Effect) string {
	var kinds []string
	for _, c := range e.Changes {
		kinds = append(kinds, c.Kind.String())
	}
	return fmt.Sprintf("%s %s", e.Kind, strings.Join(kinds, ","))
}

// lines returns the changes by table, in order.
func (p *played) lines(from uint64) string {
	byTable := map[string][]string{}
	var tables []string
	for _, c := range p.changes {
		if c.start < from {
			continue
		}
		if byTable[c.table] == nil {
			tables = append(tables, c.table)
		}
		byTable[c.table] = append(byTable[c.table], fmt.Sprintf("  %d %s", c.start&maxOffset, c.text))
	}
	slices.Sort(tables)
	var b strings.Builder
	for _, t := range tables {
		b.WriteString(t + "\n" + strings.Join(byTable[t], "\n") + "\n")
	}
	return b.String()
}

var capturedNames = []string{"mysql97", "mysql80", "mariadb1011", "mariadb118"}

// TestPieces: the same comes out however the bytes arrive.
func TestPieces(t *testing.T) {
	for _, name := range capturedNames {
		t.Run(name, func(t *testing.T) {
			l := capturedLog(t, name).untilStatement()
			o := testOptions(strings.HasPrefix(name, "maria"))
			whole := play(t, l.dump(FirstOffset), o, nil)
			if whole.err != nil {
				t.Fatal(whole.err)
			}
			r := rand.New(rand.NewPCG(1, 1))
			for range 20 {
				size := 1 + r.IntN(2000)
				p := play(t, l.dump(FirstOffset), o, func() int { return 1 + r.IntN(size) })
				if p.err != nil || p.lines(0) != whole.lines(0) || p.position != whole.position || p.gtids.String() != whole.gtids.String() {
					t.Fatalf("%v\n%s\nwant\n%s", p.err, p.lines(0), whole.lines(0))
				}
			}
		})
	}
}

// FuzzPackets: whatever bytes a connection brings, the stream ends, and nothing is
// left behind.
func FuzzPackets(f *testing.F) {
	for _, name := range []string{"mysql97", "mariadb118"} {
		f.Add(capturedLog(f, name).dump(FirstOffset), strings.HasPrefix(name, "maria"))
	}
	var d packets
	d.packet([]byte{packetError, 0xd4, 4, 'x'})
	f.Add(d.data, false)
	f.Add([]byte{0xff, 0xff, 0xff, 1, 0, 1, 2, 3}, false)
	f.Fuzz(func(t *testing.T, data []byte, mariadb bool) {
		play(t, data, testOptions(mariadb), nil)
	})
}
