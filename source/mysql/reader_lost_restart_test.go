package mysql

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

// keeper is a recorder that keeps checkpoints, which it wants whenever it may have one.
type keeper struct {
	recorder
	trigger chan int64
	n       int64
	states  [][]byte
	models  []*sourcetest.Model
}

func newKeeper(model *sourcetest.Model) *keeper {
	k := &keeper{recorder: recorder{model: model, kinds: map[string]int{}}, trigger: make(chan int64, 1)}
	k.trigger <- 1
	return k
}

func (k *keeper) Triggers() <-chan int64 { return k.trigger }

func (k *keeper) Barrier(_ context.Context, _ int64, _ uint64, state []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.states); n == 0 || !bytes.Equal(k.states[n-1], state) {
		k.states, k.models = append(k.states, state), append(k.models, k.model.Clone())
	}
	k.n++
	k.trigger <- k.n + 1
	return nil
}

// read runs a reader from a checkpoint, or from nothing, until done says so, and on to the
// next checkpoint: between two of them one table may be ahead of another.
func (d *testDatabase) read(t *testing.T, state []byte, model *sourcetest.Model, done func(k *keeper, p source.Progress) bool) *keeper {
	t.Helper()
	k := newKeeper(model)
	reader := d.newSource(t, nil, d.all).NewReader()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var ended error
	wg.Go(func() {
		defer cancel()
		_, ended = reader.Run(ctx, source.Context{Pipeline: "test", Lineage: fmt.Sprint(t.Name(), breakers.Add(1)), Restored: state != nil, State: state,
			Needs: source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: true, Reset: true}}, k)
	})
	deadline := time.Now().Add(30 * time.Second)
	doneAt := int64(-1)
	for ctx.Err() == nil && time.Now().Before(deadline) {
		k.mu.Lock()
		if doneAt < 0 && done(k, reader.Progress()) {
			doneAt = k.n
		}
		over := doneAt >= 0 && k.n > doneAt
		k.mu.Unlock()
		if over {
			cancel()
			wg.Wait()
			return k
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	wg.Wait()
	t.Fatalf("it does not come: %v, %+v", ended, reader.Progress())
	return nil
}

// TestUnreadRestart: a reader goes on from the checkpoints that lie between two statements
// that can't be read, where the definition is not known, and before and behind them.
func TestUnreadRestart(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		run(t, db, 1, rows("")...)
		run(t, db, 1, speakGBK, "CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (0)")
		tid, other := schema.TableID{Schema: db.Database, Table: "t"}, schema.TableID{Schema: db.Database, Table: "other"}
		first := db.read(t, nil, sourcetest.NewModel(), func(k *keeper, p source.Progress) bool { return p.SnapshotDone && k.n > 5 })
		run(t, db, 1, "INSERT INTO other VALUES (1)", unread("ALTER TABLE t ADD COLUMN c int"), "INSERT INTO other VALUES (2)", "INSERT INTO other VALUES (3)",
			unread("ALTER TABLE t ADD COLUMN d int"), "INSERT INTO other VALUES (4)", "UPDATE t SET c = 1, d = 2, ver = 1 WHERE id = 5", "INSERT INTO other VALUES (5)")
		whole := func(m *sourcetest.Model) bool {
			rows := m.Tables[other]
			return rows != nil && len(rows.Rows) == 6
		}
		// Whether a checkpoint lies where the definition is not known is a matter of luck.
		var second *keeper
		var lost, chosen []int
		for try := 0; try < 50 && len(lost) == 0; try++ {
			second = db.read(t, first.states[len(first.states)-1], first.models[len(first.models)-1].Clone(), func(k *keeper, _ source.Progress) bool { return whole(k.model) })
			chosen = chosen[:0]
			for i, state := range second.states {
				if bytes.Contains(state, []byte(`"lostBy"`)) {
					lost = append(lost, i)
				}
				if i%(1+len(second.states)/12) == 0 { // a slow machine makes more of them
					chosen = append(chosen, i)
				}
			}
		}
		if len(lost) == 0 {
			t.Errorf("no checkpoint lies where the definition is not known")
		}
		for _, i := range append(chosen, lost[:min(len(lost), 12)]...) {
			state := second.states[i]
			k := db.read(t, state, second.models[i].Clone(), func(k *keeper, _ source.Progress) bool { return whole(k.model) })
			row := k.model.Tables[tid].Rows
			var five map[string]string
			for _, r := range row {
				if r["id"] == "5" {
					five = r
				}
			}
			if five["c"] != "1" || five["d"] != "2" || len(row) != 300 {
				t.Errorf("from checkpoint %d of %d: %d rows, %v\n%s", i, len(second.states), len(row), five, state)
			}
		}
	})
}

// TestUnreadPast: the log begins in the past, so that definitions come from it.
func TestUnreadPast(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := openDatabase(t, s)
		src := db.newSource(t, nil, db.all)
		conn, err := src.cfg.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		at, err := readStatus(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		run(t, db, 1, rows("")...)
		b := breakAt(t, db, db.newSource(t, map[string]string{"scan.startup.mode": "specific-offset", "scan.startup.specific-offset.file": at.File, "scan.startup.specific-offset.pos": fmt.Sprint(at.Pos)}, db.all), nil)
		b.settle(t, "t")
		run(t, db, 1, speakGBK, unread("ALTER TABLE t ADD COLUMN c int, MODIFY v varchar(50)"), "UPDATE t SET c = 1, ver = 1 WHERE id = 5")
		b.settle(t, "t")
	})
}
