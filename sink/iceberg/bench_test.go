package iceberg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// ordersDef is the table of the speed figures: rows of about 150 bytes.
func ordersDef() *schema.Table {
	return &schema.Table{
		ID: schema.TableID{Schema: "public", Table: "orders"}, PrimaryKey: []string{"id"}, Version: 1,
		Columns: []schema.Column{
			{Name: "id", Type: schema.BigInt()}, {Name: "customer_id", Type: schema.BigInt(), Nullable: true},
			{Name: "status", Type: schema.Varchar(16), Nullable: true}, {Name: "amount", Type: schema.Decimal(12, 2), Nullable: true},
			{Name: "note", Type: schema.Varchar(120), Nullable: true}, {Name: "created_at", Type: schema.Timestamp(3), Nullable: true},
			{Name: "updated_at", Type: schema.Timestamp(3), Nullable: true},
		},
	}
}

const ordersBatchRows = 16384

// ordersBatch builds rows with the ids that next gives.
func ordersBatch(def *schema.Table, rng *rand.Rand, rows int, next func(i int) int64) *schema.Batch {
	statuses := []string{"new", "paid", "shipped", "delivered", "cancelled"}
	words := []string{"please", "leave", "the", "parcel", "with", "neighbour", "fragile", "ring", "twice", "gift", "wrapped", "call", "before", "delivery", "urgent", "order"}
	b := array.NewRecordBuilder(memory.DefaultAllocator, def.ArrowSchema())
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(next(i))
		b.Field(1).(*array.Int64Builder).Append(rng.Int64N(100_000))
		b.Field(2).(*array.StringBuilder).Append(statuses[rng.IntN(len(statuses))])
		b.Field(3).(*array.Decimal128Builder).Append(decimal128.FromI64(rng.Int64N(1_000_000)))
		note := fmt.Sprintf("%x", rng.Uint64())
		for len(note) < 75 {
			note += " " + words[rng.IntN(len(words))]
		}
		b.Field(4).(*array.StringBuilder).Append(note)
		at := arrow.Timestamp(1_700_000_000_000_000 + rng.Int64N(30_000_000_000)*1000)
		b.Field(5).(*array.TimestampBuilder).Append(at)
		b.Field(6).(*array.TimestampBuilder).Append(at + arrow.Timestamp(rng.Int64N(1_000_000)*1000))
	}
	return schema.NewBatch(def, b.NewRecordBatch())
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkWriter writes a snapshot of 3,000,000 orders, and in upsert mode
// a backlog of 1,500,000 changes on top of it. The batches are made before.
func BenchmarkWriter(b *testing.B) {
	def := ordersDef()
	const templates = 24
	for _, c := range []struct {
		mode    writeMode
		backend string
	}{{modeAppend, "hashmap"}, {modeUpsert, "hashmap"}, {modeUpsert, "pebble"}} {
		b.Run(fmt.Sprintf("snapshot-%s-%s", c.mode, c.backend), func(b *testing.B) {
			const rows = 3_000_000
			for range b.N {
				b.StopTimer()
				benchSnapshot(b, def, c.mode, c.backend, rows, templates)
			}
		})
	}
}

func benchSnapshot(b *testing.B, def *schema.Table, mode writeMode, backend string, rows, templates int) {
	rng := rand.New(rand.NewPCG(1, 2))
	pool := make([]*schema.Batch, templates)
	for i := range pool {
		pool[i] = ordersBatch(def, rng, ordersBatchRows, func(j int) int64 { return int64(i*ordersBatchRows + j) })
		pool[i].Txs = []schema.Tx{{Commit: 1, CommitTime: 1, Rows: ordersBatchRows}}
	}
	r := newRig(b, b.TempDir(), memory.DefaultAllocator, mode, backend)
	r.start(1)
	target := schema.TableID{Schema: "public", Table: "orders"}
	if err := r.change(target, created(def)); err != nil {
		b.Fatal(err)
	}
	if err := r.change(target, kind(def, schema.ChangeSnapshotStart)); err != nil {
		b.Fatal(err)
	}
	w := r.writers[0]
	runtime.GC()
	b.StartTimer()
	cpu := cpuSeconds()
	n := 0
	for i := 0; n < rows; i++ {
		batch := shifted(def, pool[i%templates], int64(i/templates)*int64(templates*ordersBatchRows))
		if err := w.Write(context.Background(), sink.Input{Table: target, Batch: batch}); err != nil {
			b.Fatal(err)
		}
		if n += ordersBatchRows; n%(60*ordersBatchRows) == 0 {
			r.prepare()
		}
	}
	r.prepare()
	b.StopTimer()
	b.ReportMetric((cpuSeconds()-cpu)*1e6/float64(n), "cpu-us/row")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()*float64(1), "rows/s")
	if mode == modeUpsert {
		benchBacklog(b, r, def, target, rng, int64(n))
	}
	r.crash()
	for _, p := range pool {
		p.Release()
	}
}

// shifted is a batch with other ids, sharing all other columns.
func shifted(def *schema.Table, p *schema.Batch, by int64) *schema.Batch {
	ids := p.Record.Column(0).(*array.Int64).Int64Values()
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = id + by
	}
	ib := array.NewInt64Builder(memory.DefaultAllocator)
	ib.AppendValues(out, nil)
	col := ib.NewArray()
	cols := append([]arrow.Array{col}, p.Record.Columns()[1:]...)
	rec := array.NewRecordBatch(def.ArrowSchema(), cols, int64(len(ids)))
	col.Release()
	b := schema.NewBatch(def, rec)
	b.Ops, b.Positions, b.Ordinals, b.Txs = p.Ops, p.Positions, p.Ordinals, p.Txs
	return b
}

func benchBacklog(b *testing.B, r *rig, def *schema.Table, target schema.TableID, rng *rand.Rand, keys int64) {
	const changes, perBatch = 1_500_000, 8192
	if err := r.change(target, kind(def, schema.ChangeSnapshotDone)); err != nil {
		b.Fatal(err)
	}
	next := keys
	var batches []*schema.Batch
	for range changes / perBatch {
		ops := make([]schema.Op, perBatch)
		batch := ordersBatch(def, rng, perBatch, func(i int) int64 {
			switch d := rng.IntN(10); {
			case d < 5:
				ops[i] = schema.OpUpdate
			case d < 8:
				ops[i] = schema.OpInsert
				next++
				return next
			default:
				ops[i] = schema.OpDelete
			}
			return rng.Int64N(keys)
		})
		batch.Ops = ops
		batches = append(batches, batch)
	}
	runtime.GC()
	cpu := cpuSeconds()
	b.StartTimer()
	n := 0
	for _, batch := range batches {
		if err := r.writers[0].Write(context.Background(), sink.Input{Table: target, Batch: batch}); err != nil {
			b.Fatal(err)
		}
		if n += perBatch; n%(122*perBatch) == 0 {
			r.prepare()
		}
	}
	r.prepare()
	b.StopTimer()
	b.ReportMetric((cpuSeconds()-cpu)*1e6/float64(n), "cpu-us/change")
}
