package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// numbersTable makes a table t with n rows, whose column pad takes so many bytes.
func numbersTable(db *mysqltest.DB, n int, pad func(i int) int) {
	db.Exec("CREATE TABLE t (n INT PRIMARY KEY, pad LONGBLOB)")
	var values []string
	size := 0
	for i := range n {
		values = append(values, fmt.Sprintf("(%d, REPEAT('x', %d))", i, pad(i)))
		if size += pad(i); size > 2<<20 || i == n-1 || len(values) == 500 {
			db.Exec("INSERT INTO t VALUES " + strings.Join(values, ", "))
			values, size = nil, 0
		}
	}
}

// peak is an allocator that knows the most that was allocated at one time.
type peak struct {
	memory.Allocator
	now, most atomic.Int64
}

func (p *peak) add(n int) {
	if now := p.now.Add(int64(n)); now > p.most.Load() {
		p.most.Store(now)
	}
}

func (p *peak) Allocate(n int) []byte { p.add(n); return p.Allocator.Allocate(n) }
func (p *peak) Reallocate(n int, b []byte) []byte {
	p.add(n - len(b))
	return p.Allocator.Reallocate(n, b)
}
func (p *peak) Free(b []byte) { p.add(-len(b)); p.Allocator.Free(b) }

// TestLargeRows: chunks of large rows are cut by their bytes, whatever the estimate
// says, and memory stays near one chunk. Nothing leaks.
func TestLargeRows(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		numbersTable(db, 600, func(i int) int {
			switch {
			case i == 300:
				return 3 << 20
			case i >= 400 && i < 430:
				return 300_000
			}
			return 100
		})
		db.Exec("ANALYZE TABLE t")
		mem := &peak{Allocator: memory.DefaultAllocator}
		r := NewReader(connector(s), Settings{Values: values(s), Memory: mem})
		u := &union{t: t, r: r, def: definition(t, s, db.Database, "t", "n"), seen: map[int32]int{}}
		u.run(Options{ChunkRows: 200, ChunkBytes: 1 << 20})
		r.Close()
		if len(u.seen) != 600 {
			t.Errorf("%d rows", len(u.seen))
		}
		for n, times := range u.seen {
			if times != 1 {
				t.Errorf("row %d came %d times", n, times)
			}
		}
		if u.chunks < 10 || u.chunks > 60 {
			t.Errorf("%d chunks", u.chunks)
		}
		if most := mem.most.Load(); most > 10<<20 { // the largest row, in a builder that doubles
			t.Errorf("%d bytes at most", most)
		}
		if now := mem.now.Load(); now != 0 {
			t.Errorf("%d bytes are left", now)
		}
	})
}

// TestWrongEstimate: a table that has grown a hundred times since its statistics were
// made is still read in chunks of about the wanted size.
func TestWrongEstimate(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		numbersTable(db, 3000, func(int) int { return 10 })
		r, def := reader(t, s), definition(t, s, db.Database, "t", "n")
		p := NewPlan(mustPlan(t, r, def).Key, Statistics{Rows: 30, First: Bound{"0"}, Last: Bound{"2999"}}, Options{ChunkRows: 20, ChunkBytes: 1 << 20})
		u := &union{t: t, r: r, def: def, seen: map[int32]int{}}
		u.drain(p)
		if len(u.seen) != 3000 || u.largest > 40 || u.chunks > 250 {
			t.Errorf("%d rows in %d chunks of up to %d rows", len(u.seen), u.chunks, u.largest)
		}
	})
}

func mustPlan(t *testing.T, r *Reader, def *schema.Table) *Plan {
	t.Helper()
	p, err := r.Plan(within(t), def, Options{ChunkRows: 100, ChunkBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHigh: whatever a chunk sees lies before its High.
func TestHigh(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (n INT PRIMARY KEY)", "INSERT INTO t VALUES (0)")
		r, def := reader(t, s), definition(t, s, db.Database, "t", "n")
		w := startWriter(t, db)
		p := mustPlan(t, r, def)
		for range 100 {
			c := r.Read(within(t), Job{Table: def, Key: &p.Key, Rows: 1 << 20})
			if c.Err != nil {
				t.Fatal(c.Err)
			}
			newest := c.Rows - 1
			c.Release()
			if newest == 0 {
				continue
			}
			if n, err := c.High.compare(w.begin(newest)); err != nil || n <= 0 {
				t.Fatalf("row %d begins at %v, High is %v, %v", newest, w.begin(newest), c.High, err)
			}
		}
	})
}

// writer inserts rows 1, 2, ... into t and remembers where the log was before each.
type writer struct {
	begins chan Place
	known  []Place
}

func startWriter(t *testing.T, db *mysqltest.DB) *writer {
	w := &writer{begins: make(chan Place, 1<<20), known: []Place{{}}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	conn, err := connector(db.Server)(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer conn.Close()
		for i := 1; ctx.Err() == nil && i < cap(w.begins); i++ {
			at, err := end(ctx, conn)
			if err == nil {
				w.begins <- at
				err = conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s VALUES (%d)", wire.Table(db.Database, "t"), i))
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return w
}

// begin returns where the log was before row n was inserted.
func (w *writer) begin(n int) Place {
	for len(w.known) <= n {
		w.known = append(w.known, <-w.begins)
	}
	return w.known[n]
}

// TestKilled: somebody kills our sessions while a table is read.
func TestKilled(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		numbersTable(db, 2000, func(int) int { return 50 })
		r := reader(t, s)
		u := &union{t: t, r: r, def: definition(t, s, db.Database, "t", "n"), seen: map[int32]int{}}
		u.between = func(step int) {
			if step%5 == 0 {
				db.Exec(fmt.Sprintf("KILL %d", r.conn.ID()))
			}
		}
		u.run(Options{ChunkRows: 60, ChunkBytes: 1 << 20})
		if len(u.seen) != 2000 {
			t.Errorf("%d rows", len(u.seen))
		}
	})
}

// TestHeldTable: a table that is locked is waited for, and a wait can be broken off.
func TestHeldTable(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		numbersTable(db, 10, func(int) int { return 1 })
		r, def := reader(t, s), definition(t, s, db.Database, "t", "n")
		p := mustPlan(t, r, def)
		job := Job{Table: def, Key: &p.Key, Rows: 100}
		db.Exec("LOCK TABLES t WRITE")
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		if c := r.Read(ctx, job); !errors.Is(c.Err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
			t.Errorf("after %v: %v", time.Since(start), c.Err)
		}
		unlocked := make(chan struct{})
		go func() {
			defer close(unlocked)
			time.Sleep(200 * time.Millisecond)
			db.Exec("UNLOCK TABLES")
		}()
		defer func() { <-unlocked }() // its session ends with the test
		if c := r.Read(within(t), job); c.Err != nil || c.Rows != 10 {
			t.Errorf("%d rows, %v", c.Rows, c.Err)
		} else {
			c.Release()
		}
	})
}

// TestPrivileges: what is documented is enough, and what is missing is named.
func TestPrivileges(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		numbersTable(db, 10, func(int) int { return 1 })
		def := definition(t, s, db.Database, "t", "n")
		log := "REPLICATION CLIENT ON *.*"
		if s.MariaDB {
			log = "BINLOG MONITOR ON *.*"
		}
		on := db.Database + ".*"
		for _, tc := range []struct {
			grants []string
			ok     bool
		}{{[]string{"SELECT ON " + on, log}, true}, {[]string{"SELECT ON " + on}, false}, {[]string{"INSERT ON " + on, log}, false}} {
			r := reader(t, s.Account(t, tc.grants...))
			p, err := r.Plan(within(t), def, Options{ChunkRows: 100})
			if err == nil {
				rg, _ := p.Next()
				c := r.Read(within(t), p.Job(def, rg))
				c.Release()
				if err = c.Err; err == nil {
					var v *View
					if v, err = r.OpenView(within(t), def); err == nil {
						v.Close()
					}
				}
			}
			if (err == nil) != tc.ok || err != nil && !errors.Is(err, ErrPrivilege) {
				t.Errorf("%v: %v", tc.grants, err)
			}
			r.Close()
		}
	})
}

// TestErrors: which errors of the server are worth another try.
func TestErrors(t *testing.T) {
	id := schema.TableID{Schema: "d", Table: "t"}
	for code, want := range map[uint16]string{1205: "retriable", 1317: "retriable", 3024: "retriable", 1969: "retriable", 1412: "retriable", 1146: "stale", 1054: "stale", 1142: "privilege", 1064: "none"} {
		err := explain(id, "read", fmt.Errorf("SELECT: %w", myError(code)))
		got := "none"
		switch {
		case Retriable(err):
			got = "retriable"
		case errors.Is(err, ErrStale):
			got = "stale"
		case errors.Is(err, ErrPrivilege):
			got = "privilege"
		}
		if got != want || !strings.HasPrefix(err.Error(), "table d.t: read: ") {
			t.Errorf("%d is %s, not %s: %v", code, got, want, err)
		}
	}
	for err, want := range map[error]bool{wire.ErrClosed: true, context.Canceled: false, wire.ErrProtocol: false, errKeyValue: false} {
		if Retriable(explain(id, "read", err)) != want {
			t.Errorf("%v", err)
		}
	}
}
