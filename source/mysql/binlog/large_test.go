package binlog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// blobOptions captures a table of an INT key and a LONGBLOB.
func blobOptions() Options {
	d := ddl.Definition{ID: schema.TableID{Schema: "d", Table: "t"},
		Columns: []ddl.Column{{Definition: value.Definition{Name: "id", ColumnType: "int"}}, {Definition: value.Definition{Name: "b", ColumnType: "longblob", Nullable: true}}},
		Keys:    []ddl.Key{{Name: "PRIMARY", Primary: true, Unique: true, Parts: []ddl.KeyPart{{Column: "id"}}}}}
	return Options{Catalog: ddl.NewCatalog(ddl.Options{Version: 90700}, nil, []ddl.Definition{d}), Captured: func(schema.TableID) bool { return true }}
}

func (l *testLog) blobMap() {
	p := append(tableIDBytes(1), 1, 0, 1, 'd', 0, 1, 't', 0, 2, 3, 252, 1, 4, 2)
	l.add(event.TableMapType, 0, p)
}

func blobRow(p []byte, id, size int) []byte {
	p = append(p, 0)
	p = binary.LittleEndian.AppendUint32(p, uint32(id))
	p = binary.LittleEndian.AppendUint32(p, uint32(size))
	return append(p, bytes.Repeat([]byte{byte(id)}, size)...)
}

// TestLargeEvents: events of every size around the sizes of buffers and packets,
// plain and inside of a compressed transaction.
func TestLargeEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some hundred MB")
	}
	sizes := []int{1, directPacket - 60, directPacket - 30, directPacket, segmentSize - 100, segmentSize, segmentSize + 1, 3 * segmentSize, longPacket - 47, longPacket - 46, longPacket - 45,
		2*longPacket - 46, longPacket + 1000, 5}
	l := newTestLog("binlog.000001")
	for _, packed := range []bool{false, true} {
		fill := func(l *testLog) {
			l.query("BEGIN")
			for id, size := range sizes {
				l.blobMap()
				l.rows(event.WriteRows, 1, 2, blobRow(nil, id, size))
			}
			l.xid()
		}
		l.gtid()
		if packed {
			l.payload(fill)
		} else {
			fill(l)
		}
	}
	for _, piece := range []int{0, 100_003} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		o := blobOptions()
		o.Allocator, o.Decoders = mem, 1
		ctx, cancel := context.WithCancel(context.Background())
		conn := &recorded{data: l.dump(FirstOffset)}
		if piece > 0 {
			conn.piece = func() int { return piece }
		}
		s := start(ctx, cancel, conn, o)
		n := 0
		for g := range s.Groups() {
			for _, r := range g.Rows {
				for i := range r.Batch.Rows() {
					b := r.Batch.Record.Column(1).(*array.Binary).Value(i)
					want := bytes.Repeat([]byte{byte(n % len(sizes))}, sizes[n%len(sizes)])
					if !bytes.Equal(b, want) || r.Batch.Ordinals[i] != uint32(n%len(sizes)) {
						t.Fatalf("row %d: %d bytes, ordinal %d", n, len(b), r.Batch.Ordinals[i])
					}
					n++
				}
			}
			g.Release()
		}
		if err := s.Err(); n != 2*len(sizes) || !errors.Is(err, io.EOF) {
			t.Fatalf("%d rows, %v", n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		mem.AssertSize(t, 0)
	}
}

// TestOrdinals: a transaction that flows as many groups counts its rows through.
func TestOrdinals(t *testing.T) {
	const rows = 100_000
	l := newTestLog("binlog.000001")
	for range 2 {
		l.gtid()
		l.query("BEGIN")
		l.tableMap(1, "t", "iv")
		l.tableMap(2, "u", "iv")
		for i := 0; i < rows; i += 100 {
			var area []byte
			for j := range 100 {
				area = row(area, i+j, "some text")
			}
			l.rows(event.WriteRows, 1+uint64(i/100%2), 2, area)
		}
		l.xid()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := start(ctx, cancel, &recorded{data: l.dump(FirstOffset)}, smallOptions())
	seen := [2][]bool{make([]bool, rows), make([]bool, rows)}
	groups := 0
	for g := range s.Groups() {
		groups++
		for _, r := range g.Rows {
			i := 0
			for _, tx := range r.Batch.Txs {
				for range tx.Rows {
					n := r.Batch.Ordinals[i]
					if seen[tx.ID-1][n] {
						t.Fatalf("ordinal %d of transaction %d comes twice", n, tx.ID)
					}
					seen[tx.ID-1][n] = true
					id := r.Batch.Record.Column(0).(*array.Int32).Value(i)
					if uint32(id) != n {
						t.Fatalf("row %d has ordinal %d", id, n)
					}
					i++
				}
			}
		}
		g.Release()
	}
	if groups < 4 {
		t.Errorf("%d groups", groups)
	}
	for _, tx := range seen {
		for i, ok := range tx {
			if !ok {
				t.Fatalf("ordinal %d is missing", i)
			}
		}
	}
	if err := s.Close(); err != nil || !errors.Is(s.Err(), io.EOF) {
		t.Fatal(err, s.Err())
	}
}

// TestServerError: what the server says at the end is named.
func TestServerError(t *testing.T) {
	for text, want := range map[string]error{
		"Could not find first log file name in binary log index file":                                                                                ErrPurged,
		"Cannot replicate because the source purged required binary logs. Replicate the missing transactions from elsewhere":                         ErrPurged,
		"A replica with the same server_uuid/server_id as this replica has connected to the source; the first event 'binlog.000001' at 4":            ErrServerIDTaken,
		"Replica has more GTIDs than the source has, using the source's SERVER_UUID. This may indicate that the end of the binary log was truncated": ErrOtherHistory,
		"Client requested master to start replication from position > file size":                                                                     ErrOtherHistory,
		"bogus data in log event; the first event 'x' at 4":                                                                                          ErrCorrupt,
		"Binary log is not open": ErrBinlogOff,
	} {
		var d packets
		d.packet(append([]byte{packetError, 0xd4, 4}, ("#HY000" + text)...))
		p := play(t, d.data, smallOptions(), nil)
		if !errors.Is(p.err, want) || !strings.Contains(p.err.Error(), text) {
			t.Errorf("%s: %v", text, p.err)
		}
	}
	var d packets
	d.packet([]byte{packetEOF, 0, 0, 0, 0})
	if p := play(t, d.data, smallOptions(), nil); !errors.Is(p.err, ErrEnded) {
		t.Error(p.err)
	}
	d = packets{}
	d.packet([]byte{0x55})
	if p := play(t, d.data, smallOptions(), nil); !errors.Is(p.err, ErrStream) {
		t.Error(p.err)
	}
	d = packets{seq: 5}
	d.packet([]byte{packetEvent, 1})
	if p := play(t, d.data, smallOptions(), nil); !errors.Is(p.err, ErrStream) {
		t.Error(p.err)
	}
}

// TestCloseWhileFull: Close ends a stream that nobody reads from.
func TestCloseWhileFull(t *testing.T) {
	l := newTestLog("binlog.000001")
	l.orders(50 * benchRows)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	o := ordersOptions()
	o.Allocator = mem
	ctx, cancel := context.WithCancel(context.Background())
	s := start(ctx, cancel, &recorded{data: l.dump(FirstOffset), hang: make(chan struct{})}, o)
	g := <-s.Groups()
	g.Release()
	if err := s.Close(); err != nil || s.Err() != nil {
		t.Fatal(err, s.Err())
	}
	mem.AssertSize(t, 0)
}
