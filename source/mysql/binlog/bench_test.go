//go:build unix

package binlog

import (
	"context"
	"encoding/binary"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// ordersDefinition is the table of the benchmarks, about 150 bytes a row.
func ordersDefinition() ddl.Definition {
	column := func(name, typ, charset string, nullable bool) ddl.Column {
		return ddl.Column{Definition: value.Definition{Name: name, ColumnType: typ, Charset: charset, Nullable: nullable}}
	}
	return ddl.Definition{ID: schema.TableID{Schema: "d", Table: "orders"},
		Columns: []ddl.Column{column("id", "bigint", "", false), column("customer_id", "bigint", "", true), column("status", "varchar(20)", "utf8mb4", true),
			column("amount", "decimal(12,2)", "", true), column("note", "varchar(120)", "utf8mb4", true), column("created_at", "datetime(3)", "", true),
			column("updated_at", "datetime(3)", "", true)},
		Keys: []ddl.Key{{Name: "PRIMARY", Primary: true, Unique: true, Parts: []ddl.KeyPart{{Column: "id"}}}}}
}

func (l *testLog) ordersMap() {
	p := append(tableIDBytes(95), 1, 0, 1, 'd', 0, 6)
	p = append(append(p, "orders"...), 0, 7)
	p = append(p, 8, 8, 15, 246, 15, 18, 18)
	p = append(p, 8, 80, 0, 12, 2, 0xe0, 1, 3, 3)
	p = append(p, 0x7e)
	p = append(p, 1, 1, 0)             // signedness
	p = append(p, 2, 3, 0xfc, 0xff, 0) // collation 255
	l.add(event.TableMapType, 0, p)
}

// orderRow is a full image.
func orderRow(p []byte, id uint64, cents uint32) []byte {
	const note = "a note of about eighty characters, as people write them into orders all the time"
	p = append(p, 0)
	p = binary.LittleEndian.AppendUint64(p, id)
	p = binary.LittleEndian.AppendUint64(p, id%5000)
	p = append(append(p, 9), "delivered"...)
	p = append(p, 0x80, 0, byte(id%100), 0, 0, byte(cents%100)) // decimal(12,2)
	p = binary.LittleEndian.AppendUint16(p, uint16(len(note)))
	p = append(p, note...)
	at := []byte{0x99, 0xbb, 0x7c, 0xc8, 0xb8, 0x16, 0x2e} // 2026-11-30 12:34:56.567
	return append(append(p, at...), at...)
}

// orders writes n changes, each a statement of its own, in transactions of 100: half of
// them updates, 30 % inserts, 20 % deletes.
func (l *testLog) orders(n int) {
	for i := range n {
		if i%100 == 0 {
			l.gtid()
			l.query("BEGIN")
		}
		l.ordersMap()
		id := uint64(1_000_000 + i)
		switch {
		case i%10 < 5:
			l.rows(event.UpdateRows, 95, 7, orderRow(orderRow(nil, id, 1), id, 2))
		case i%10 < 8:
			l.rows(event.WriteRows, 95, 7, orderRow(nil, id, 1))
		default:
			l.rows(event.DeleteRows, 95, 7, orderRow(nil, id, 1))
		}
		if i%100 == 99 {
			l.xid()
		}
	}
}

func ordersOptions() Options {
	return Options{Catalog: ddl.NewCatalog(ddl.Options{Version: 90700}, nil, []ddl.Definition{ordersDefinition()}),
		Captured: func(id schema.TableID) bool { return id.Table == "orders" }, Allocator: memory.DefaultAllocator}
}

const benchRows = 8000

// scanAll scans a log by hand and returns the group.
func scanAll(tb testing.TB, s *scanner, events [][]byte, seg *segment) *rawGroup {
	for _, p := range events {
		if v, err := s.event(p, seg); err != nil || v == unpack {
			tb.Fatal(v, err)
		}
	}
	return s.take()
}

// eventsOf cuts what a server sends for a log.
func eventsOf(l *testLog) [][]byte {
	var events [][]byte
	for data := l.dump(FirstOffset); len(data) > 0; {
		size, _, _ := packetSize(data, data[3])
		events = append(events, data[packetHeader+1:packetHeader+size])
		data = data[packetHeader+size:]
	}
	return events
}

// BenchmarkScan only scans.
func BenchmarkScan(b *testing.B) {
	l := newTestLog("binlog.000001")
	l.orders(benchRows)
	events := eventsOf(l)
	b.SetBytes(int64(len(l.data)))
	b.ReportAllocs()
	o := ordersOptions()
	spare := make(chan []rowsEvent, 2)
	for b.Loop() {
		s := o.scanner()
		s.spare = spare
		g := scanAll(b, s, events, &segment{})
		if len(g.rows) != benchRows {
			b.Fatal(len(g.rows))
		}
		spare <- g.rows[:0]
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchRows), "ns/row")
}

// BenchmarkDecode decodes scanned events on one core, with keys.
func BenchmarkDecode(b *testing.B) {
	l := newTestLog("binlog.000001")
	l.orders(benchRows)
	s := ordersOptions().scanner()
	g := scanAll(b, s, eventsOf(l), &segment{})
	d := newDecoder(memory.DefaultAllocator)
	defer d.release()
	b.SetBytes(int64(len(l.data)))
	b.ReportAllocs()
	for b.Loop() {
		out := d.decode(g)
		if out.err != nil || out.group.Rows[0].Batch.Rows() != benchRows {
			b.Fatal(out.err)
		}
		out.group.Release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchRows), "ns/row")
}

// cpuTime is what this process has used, in nanoseconds: on a shared machine it says
// more than the clock.
func cpuTime() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return float64(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkStream is everything from packets to groups.
func BenchmarkStream(b *testing.B) {
	l := newTestLog("binlog.000001")
	l.orders(20 * benchRows)
	data := l.dump(FirstOffset)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		s := start(ctx, cancel, &recorded{data: data}, ordersOptions())
		rows := 0
		for g := range s.Groups() {
			for _, r := range g.Rows {
				rows += r.Batch.Rows()
			}
			g.Release()
		}
		if rows != 20*benchRows {
			b.Fatal(rows, s.Err())
		}
		_ = s.Close()
	}
	b.ReportMetric((cpuTime()-before)/float64(b.N*20*benchRows), "cpu-ns/row")
}

// BenchmarkSkip follows a log of a table that is not captured.
func BenchmarkSkip(b *testing.B) {
	l := newTestLog("binlog.000001")
	l.orders(20 * benchRows)
	data := l.dump(FirstOffset)
	b.SetBytes(int64(len(data)))
	o := ordersOptions()
	o.Captured = func(schema.TableID) bool { return false }
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		s := start(ctx, cancel, &recorded{data: data}, o)
		for g := range s.Groups() {
			g.Release()
		}
		_ = s.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*20*benchRows), "ns/row")
}
