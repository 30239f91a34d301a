package snapshot

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

const benchRows = 300_000

// BenchmarkProtocols reads a table like that of the published figures: over the
// binary protocol, over text, and nothing but the bytes of text, which is the floor.
// cpu-ns/row is what this process takes; the server's share is what makes the
// difference between the floors (measured beside: 0.51 to 0.77 us a row for binary,
// 0.79 to 0.88 for text).
func BenchmarkProtocols(b *testing.B) {
	for _, s := range mysqltest.Servers(b) {
		db := mysqltest.Open(b, s)
		ordersTable(db, benchRows)
		def := definition(b, s, db.Database, "orders", "id")
		for name, read := range map[string]func(context.Context, *Reader, *schema.Table) (int, error){
			"floor text": readBytes, "text": readText, "binary": readView, "chunks": readChunks, "chunks by two": readParallel,
		} {
			b.Run(s.Name+"/"+name, func(b *testing.B) {
				r := reader(b, s)
				start := processTime()
				for b.Loop() {
					if n, err := read(b.Context(), r, def); err != nil || n != benchRows {
						b.Fatal(n, err)
					}
				}
				rows := float64(b.N * benchRows)
				b.ReportMetric(float64(b.Elapsed())/rows, "ns/row")
				b.ReportMetric(float64(processTime()-start)/rows, "cpu-ns/row")
			})
		}
	}
}

// processTime is the processor time of this process.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ordersTable fills the table of the published figures: about 150 bytes a row.
func ordersTable(db *mysqltest.DB, rows int) {
	db.Exec("CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL, status VARCHAR(16) NOT NULL, amount DECIMAL(12,2) NOT NULL, note VARCHAR(120) NOT NULL, created_at DATETIME(3) NOT NULL, updated_at TIMESTAMP(3) NOT NULL)")
	status := []string{"new", "paid", "packed", "shipped", "delivered", "returned"}
	note := strings.Repeat("a note ", 11)
	for from := 0; from < rows; from += 5000 {
		values := make([]string, 0, 5000)
		for i := from; i < min(from+5000, rows); i++ {
			values = append(values, fmt.Sprintf("(%d, %d, '%s', %d.%02d, '%s', '2026-01-01 00:00:00' + INTERVAL %d SECOND, '2026-01-01 00:00:00.123')", i+1, i*7919%500000, status[i%6], i%10000, i%100, note, i))
		}
		db.Exec("INSERT INTO orders VALUES " + strings.Join(values, ", "))
	}
	db.Exec("ANALYZE TABLE orders")
}

func readBytes(ctx context.Context, r *Reader, t *schema.Table) (n int, err error) {
	conn, err := r.session(ctx)
	if err != nil {
		return 0, err
	}
	return n, conn.Stream(ctx, "SELECT * FROM "+tableName(t), func([]byte) error { n++; return nil })
}

func readText(ctx context.Context, r *Reader, t *schema.Table) (n int, err error) {
	conn, err := r.session(ctx)
	if err != nil {
		return 0, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
	defer b.Release()
	readers := make([]value.TextReader, len(t.Columns))
	for i, c := range t.Columns {
		if readers[i], err = value.NewTextReader(c, b.Field(i), r.set.Values); err != nil {
			return 0, err
		}
	}
	err = conn.Stream(ctx, selectList(t, conn.Flavor())+" FROM "+tableName(t), func(row []byte) error {
		for i := range readers {
			cell, null, rest, err := wire.NextCell(row)
			if err != nil || null {
				return fmt.Errorf("NULL %t, %w", null, err)
			}
			if err := readers[i](cell); err != nil {
				return err
			}
			row = rest
		}
		if n++; n%recordRows == 0 {
			b.NewRecordBatch().Release()
			b.Reserve(recordRows)
		}
		return nil
	})
	return n, err
}

func readView(ctx context.Context, r *Reader, t *schema.Table) (n int, err error) {
	v, err := r.OpenView(ctx, t)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	return n, v.Read(ctx, func(rec arrow.RecordBatch) error { n += int(rec.NumRows()); rec.Release(); return nil })
}

func readChunks(ctx context.Context, r *Reader, t *schema.Table) (n int, err error) {
	p, err := r.Plan(ctx, t, Options{ChunkRows: 100_000, ChunkBytes: 8 << 20})
	if err != nil {
		return 0, err
	}
	for rg, ok := p.Next(); ok; rg, ok = p.Next() {
		c := r.Read(ctx, p.Job(t, rg))
		p.Took(c)
		n += c.Rows
		if c.Release(); c.Err != nil {
			return n, c.Err
		}
		for w, ok := p.Walk(); ok; w, ok = p.Walk() {
			bounds, end, err := r.Walk(ctx, t, &p.Key, w)
			if err != nil {
				return n, err
			}
			p.Walked(bounds, end)
		}
	}
	return n, nil
}

// readParallel reads with two Readers, each with a part of the ranges.
func readParallel(ctx context.Context, r *Reader, t *schema.Table) (n int, err error) {
	p, err := r.Plan(ctx, t, Options{ChunkRows: 20_000, ChunkBytes: 8 << 20})
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, r := range []*Reader{r, NewReader(r.connect, r.set)} {
		wg.Go(func() {
			defer r.Close()
			for {
				mu.Lock()
				rg, ok := p.Next()
				mu.Unlock()
				if !ok {
					return
				}
				c := r.Read(ctx, p.Job(t, rg))
				mu.Lock()
				n += c.Rows
				if c.Release(); c.Err != nil {
					err = c.Err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return n, err
}
