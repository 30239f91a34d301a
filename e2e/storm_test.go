package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/e2e/storm"
	"github.com/freshet-cdc/freshet/e2e/workload"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// The size of TestStorm.
const (
	stormDDL     = 300
	stormChanges = 20_000
)

// TestStorm changes the columns of eight tables, 300 times, between 20,000 changes
// of their rows, while two pipelines that copy them are killed over and over. At the
// end columns and rows must be those of the source.
func TestStorm(t *testing.T) {
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		kills := 12
		if servers.Full() {
			kills = 40
		} else if db.Name != "MySQL97" && db.Name != "MariaDB118" {
			return // the newest of each kind will do
		}
		gate := &workload.Gate{}
		gate.Limit(0)
		s := storm.New(db.URL(), storm.Config{Seed: 11, DDL: stormDDL, Changes: stormChanges, Pace: gate.Pace})
		t.Cleanup(func() { db.NewSession().Exec("DROP DATABASE IF EXISTS " + s.Other()) })
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
		var pipelines []process.Pipeline
		for _, mode := range []string{"upsert", "append"} {
			pipelines = append(pipelines, newPipeline(t, "storm-"+mode, db.URL(), func(p *process.Pipeline) {
				p.Sink["write.mode"] = mode
				p.Source["scan.incremental.snapshot.chunk.size"] = "50"
			}))
		}
		group, ctx := errgroup.WithContext(t.Context())
		group.Go(func() error { return s.Run(ctx) })
		group.Go(func() error {
			defer gate.Limit(stormDDL)
			return killAll(ctx, binary(t), pipelines, kills, func(done int64) { gate.Limit(stormDDL * done / int64(kills)) })
		})
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		if s.DDL() != stormDDL {
			t.Errorf("%d statements of DDL, want %d", s.DDL(), stormDDL)
		}
		for _, p := range pipelines {
			catchUp(t, p)
		}
		for _, name := range s.Tables() {
			table := db.Database + "." + name
			equal(t, pipelines[0], table)
			equalChangelogs(t, pipelines[1], table)
			for _, p := range pipelines {
				sameColumns(t, p, table)
			}
		}
	})
}

// killAll starts the pipelines side by side and kills each at random moments, again
// and again, as often as kills says over all of them; killed is called after each.
func killAll(ctx context.Context, binary string, pipelines []process.Pipeline, kills int, killed func(done int64)) error {
	group, ctx := errgroup.WithContext(ctx)
	var done atomic.Int64
	for i, p := range pipelines {
		rng := rand.New(rand.NewPCG(17, uint64(i)))
		group.Go(func() error {
			for range kills / len(pipelines) {
				run, err := process.Start(binary, []string{"run", p.Path()})
				if err != nil {
					return err
				}
				select {
				case <-run.Done():
					return fmt.Errorf("pipeline %s ended by itself: %s", p.Name, run.Wait().Tail(40))
				case <-ctx.Done():
				case <-time.After(500*time.Millisecond + time.Duration(rng.Int64N(int64(3*time.Second)))):
				}
				run.Kill()
				run.Wait()
				killed(done.Add(1))
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// sameColumns compares the names of the columns, and their order, with the source;
// what freshet adds to a changelog begins with two underscores. Those that are not
// captured must not be there.
func sameColumns(t *testing.T, p process.Pipeline, table string, uncaptured ...string) {
	t.Helper()
	want, err := readers.ColumnNames(t.Context(), sourceOf(t, p), table)
	if err != nil {
		t.Fatal(err)
	}
	got, err := openReader(t, p).Columns(table)
	if err != nil {
		t.Fatal(err)
	}
	got = slices.DeleteFunc(got, func(name string) bool { return strings.HasPrefix(name, "__") })
	want = slices.DeleteFunc(want, func(name string) bool { return slices.Contains(uncaptured, name) })
	if !slices.Equal(got, want) {
		t.Errorf("pipeline %s, table %s: columns %q, the source has %q", p.Name, table, got, want)
	}
}
