package postgres

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/window"
)

// frames writes a replication stream.
type frames struct {
	buf []byte
	lsn uint64
	// identity and keyed are what relations announce: the replica identity and the
	// columns of the key; by default the first column.
	identity byte
	keyed    []string
}

// wal adds a WAL frame with the given payload.
func (f *frames) wal(payload []byte) {
	f.lsn += 100
	f.buf = append(f.buf, msgCopyData)
	f.buf = binary.BigEndian.AppendUint32(f.buf, uint32(4+walHeader+len(payload)))
	f.buf = append(f.buf, walData)
	f.buf = binary.BigEndian.AppendUint64(f.buf, f.lsn)
	f.buf = binary.BigEndian.AppendUint64(f.buf, f.lsn)
	f.buf = binary.BigEndian.AppendUint64(f.buf, 0)
	f.buf = append(f.buf, payload...)
}

func (f *frames) keepalive(end uint64, reply byte) {
	f.buf = append(f.buf, msgCopyData, 0, 0, 0, 4+18, walKeepalive)
	f.buf = binary.BigEndian.AppendUint64(f.buf, end)
	f.buf = append(f.buf, 0, 0, 0, 0, 0, 0, 0, 0, reply)
}

func (f *frames) begin(xid uint32, commit uint64) {
	p := binary.BigEndian.AppendUint64([]byte{outBegin}, commit)
	p = binary.BigEndian.AppendUint64(p, 700_000_000_000_000)
	f.wal(binary.BigEndian.AppendUint32(p, xid))
}

func (f *frames) commit(commit, end uint64) {
	p := binary.BigEndian.AppendUint64([]byte{outCommit, 0}, commit)
	p = binary.BigEndian.AppendUint64(p, end)
	f.wal(binary.BigEndian.AppendUint64(p, 700_000_000_000_000))
}

// relation announces a table with its columns' types; the first column is the key.
func (f *frames) relation(t *schema.Table) {
	p := binary.BigEndian.AppendUint32([]byte{outRelation}, uint32(t.SourceID))
	p = append(append(append(append(p, t.ID.Schema...), 0), t.ID.Table...), 0, cmp.Or(f.identity, 'd'))
	p = binary.BigEndian.AppendUint16(p, uint16(len(t.Columns)))
	for i, c := range t.Columns {
		key := byte(0)
		if i == 0 && f.identity == 0 || slices.Contains(f.keyed, c.Name) {
			key = 1
		}
		p = append(append(append(p, key), c.Name...), 0)
		p = binary.BigEndian.AppendUint32(p, c.Source.OID)
		p = binary.BigEndian.AppendUint32(p, uint32(c.Source.Modifier))
	}
	f.wal(p)
}

func tupleBytes(p []byte, values ...string) []byte {
	p = binary.BigEndian.AppendUint16(p, uint16(len(values)))
	for _, v := range values {
		if v == "NULL" {
			p = append(p, cellNull)
			continue
		}
		p = append(p, cellText)
		p = binary.BigEndian.AppendUint32(p, uint32(len(v)))
		p = append(p, v...)
	}
	return p
}

// row adds an insert or update (with the new tuple) or a delete (with the key).
func (f *frames) row(kind byte, oid uint32, values ...string) {
	p := binary.BigEndian.AppendUint32([]byte{kind}, oid)
	if kind == outDelete {
		p = append(p, 'K')
	} else {
		p = append(p, 'N')
	}
	f.wal(tupleBytes(p, values...))
}

// builtin makes a column of a built-in type.
func builtin(name string, oid uint32, typ string, mod int32) schema.Column {
	c := typeCatalog{oid: pgType{OID: oid, Name: typ, Kind: 'b'}}
	t, src := c.column(oid, mod, 0, textOptions{})
	return schema.Column{Name: name, Type: t, Nullable: true, Source: src}
}

// ordersTable is the table of the benchmarks, about 150 bytes a row.
func ordersTable() *schema.Table {
	t := &schema.Table{ID: schema.TableID{Schema: "public", Table: "orders"}, PrimaryKey: []string{"id"}, SourceID: 16384, Version: 1, Columns: []schema.Column{
		builtin("id", 20, "int8", -1), builtin("customer_id", 20, "int8", -1), builtin("status", 1043, "varchar", 20), builtin("amount", 1700, "numeric", 12<<16+2+4),
		builtin("note", 1043, "varchar", 124), builtin("created_at", 1114, "timestamp", 3), builtin("updated_at", 1114, "timestamp", 3)}}
	for i := range t.Columns {
		t.Columns[i].Ordinal = i + 1
	}
	return t
}

// ordersFrames writes n changes in transactions of 100 rows: half of them
// updates, 30 % inserts, 20 % deletes.
func ordersFrames(t *schema.Table, n int) *frames {
	f := &frames{lsn: 1 << 32}
	f.relationOutside(t)
	oid := uint32(t.SourceID)
	note := "a note of about eighty characters, as people write them into orders all the time"
	for i := range n {
		if i%100 == 0 {
			f.begin(uint32(1000+i/100), f.lsn+10_200)
		}
		id := fmt.Sprint(1_000_000 + i)
		switch {
		case i%10 < 8:
			kind := byte(outUpdate)
			if i%10 < 3 {
				kind = outInsert
			}
			f.row(kind, oid, id, fmt.Sprint(i%5000), "delivered", fmt.Sprintf("%d.%02d", i%9000, i%100), note, "2026-11-30 06:12:34.567", "2026-11-30 07:12:34.5")
		default:
			f.row(outDelete, oid, id, "NULL", "NULL", "NULL", "NULL", "NULL", "NULL")
		}
		if i%100 == 99 {
			f.commit(f.lsn, f.lsn+50)
		}
	}
	return f
}

// relationOutside announces a table in a transaction of its own.
func (f *frames) relationOutside(t *schema.Table) {
	f.begin(1, f.lsn+200)
	f.relation(t)
	f.commit(f.lsn, f.lsn+50)
}

func testResolver(tables ...*schema.Table) *relationResolver {
	nowhere, _ := parseConn(map[string]string{"hostname": "127.0.0.1", "port": "1", "username": "u", "database": "d", "sslmode": "disable"})
	a := &attachment{cfg: &config{conn: nowhere}, Known: window.Snapshot{Xmin: 1 << 40, Xmax: 1 << 40}}
	for _, t := range tables {
		kind := byte('r')
		if t.ID.Table == "p" {
			kind = 'p'
		}
		a.infos = append(a.infos, tableInfo{Schema: t, Identity: 'd', Kind: kind})
	}
	r := newRelationResolver(a, tables, needsAll)
	return r
}

// BenchmarkDecode scans and decodes recorded frames of one table on one core, with keys.
func BenchmarkDecode(b *testing.B) {
	const rows = 8000
	t := ordersTable()
	f := ordersFrames(t, rows)
	r := testResolver(t)
	d := newDecoder(memory.DefaultAllocator, textOptions{})
	defer d.release()
	s := &scanner{resolve: r.resolve, truncated: r.truncated}
	b.SetBytes(int64(len(f.buf)))
	b.ReportAllocs()
	for b.Loop() {
		for at := 0; at < len(f.buf); {
			fr, _, _, _ := nextFrame(f.buf[at:])
			if v, err := s.frame(fr, at); err != nil || v == cutAfter {
				b.Fatal(v, err)
			}
			at += fr.size
		}
		g := s.take(len(f.buf))
		g.buf = f.buf
		out := d.decode(g)
		if out.err != nil || out.group.Rows[0].Batch.Rows() != rows {
			b.Fatal(out.err)
		}
		out.group.release()
	}
	b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds(), "rows/s")
}
