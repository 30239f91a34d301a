package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/workload"
)

// result is what the last line reports.
type result struct {
	kills                 int
	changes               int64
	lost, doubled, broken int
}

// finishTimeout is how long a pipeline may take to catch up once nobody kills it.
const finishTimeout = 10 * time.Minute

// crash does the whole run.
func crash(ctx context.Context, c config) (result, error) {
	if !c.keep {
		defer os.RemoveAll(c.dir)
	}
	binary, err := process.Build(ctx)
	if err != nil {
		return result{}, err
	}
	defer process.RemoveBuilt()
	db, err := startDatabase(ctx, c)
	if err != nil {
		return result{}, err
	}
	defer db.wipe()
	disturber := &disturber{database: db, rng: newRand(c.seed, 99)}
	victims, err := newVictims(c, binary, db, disturber)
	if err != nil {
		return result{}, err
	}
	gate := &workload.Gate{}
	load := db.workload(c.server)
	load.Seed, load.Accounts, load.Documents, load.Events, load.Pace = c.seed, 4000, 20_000, 20_000, gate.Pace
	if kind := sinks[c.sink]; kind.steady > 0 {
		load.Events = kind.firstEvents
		load.Pace = func(ctx context.Context, changes int64) error {
			return errors.Join(gate.Pace(ctx, changes), wait(ctx, kind.steady))
		}
	}
	w, err := workload.New(db.url, load)
	if err != nil {
		return result{}, err
	}
	if err := w.Create(ctx); err != nil {
		return result{}, err
	}
	ordeal := &ordeal{config: c, db: db, load: w, gate: gate, victims: victims, disturber: disturber}
	for _, until := range ordeal.halves() {
		if err := ordeal.killWhileWriting(ctx, until); err != nil {
			return result{}, err
		}
		if until == c.kills {
			break
		}
		// What both have read may go from the log.
		for _, v := range victims {
			if err := v.finish(ctx); err != nil {
				return result{}, err
			}
		}
		if err := db.purge(ctx, db.url); err != nil {
			return result{}, fmt.Errorf("purge the log: %w", err)
		}
	}
	kills, changes := int(ordeal.kills.Load()), w.Changes()
	fmt.Printf("%d kills, %d restarts of the server, %d of the broker, %d cuts, %d changes written; catching up\n",
		kills, disturber.restarts, disturber.brokerRestarts, disturber.cuts, changes)
	for _, v := range victims {
		if err := v.finish(ctx); err != nil {
			return result{}, err
		}
	}
	r := result{kills: kills, changes: changes}
	for _, v := range victims {
		if err := sinks[c.sink].check(ctx, v, db, w, &r); err != nil {
			return result{}, err
		}
	}
	return r, nil
}

// ordeal is the part of a crash run in which the pipelines are killed.
type ordeal struct {
	config    config
	db        *database
	load      *workload.Workload
	gate      *workload.Gate
	victims   []*victim
	disturber *disturber
	kills     atomic.Int64 // so far
}

// halves are the numbers of kills after which the log is purged, and the end.
func (r *ordeal) halves() []int {
	if r.db.purge == nil || r.config.kills < 4 {
		return []int{r.config.kills}
	}
	return []int{r.config.kills / 2, r.config.kills}
}

// killWhileWriting lets the workload write in step with the kills, until there were
// that many: after k of n kills, k/n of the changes have been let through. So changes
// lie between all of them.
func (r *ordeal) killWhileWriting(ctx context.Context, until int) error {
	group, ctx := errgroup.WithContext(ctx)
	share := func(kills int64) int64 { return r.config.changes * kills / int64(r.config.kills+1) }
	from := int(r.kills.Load())
	end := share(int64(until))
	if until == r.config.kills {
		end = r.config.changes
	}
	r.gate.Limit(share(int64(from) + 1))
	group.Go(func() error {
		_, err := r.load.Run(ctx, end)
		return err
	})
	killers, killCtx := errgroup.WithContext(ctx)
	for i, v := range r.victims {
		n := (until - from) / len(r.victims)
		if i < (until-from)%len(r.victims) {
			n++
		}
		killers.Go(func() error {
			return v.suffer(killCtx, n, func() { r.gate.Limit(share(r.kills.Add(1) + 1)) })
		})
	}
	disturbed, endDisturbance := context.WithCancel(ctx)
	group.Go(func() error { return r.disturber.run(disturbed) })
	group.Go(func() error {
		err := killers.Wait()
		endDisturbance()
		r.gate.Limit(r.config.changes)
		return err
	})
	return group.Wait()
}

// freeAddress finds a port that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// sinkKind is a sink that a crash run takes.
type sinkKind struct {
	// victims returns the two pipelines, without what they have in common.
	victims func(c config, db *database) []*victim
	// firstEvents is how many rows the table without a key has at the beginning, 0 for as
	// many as usual.
	firstEvents int
	// steady is how long a writer waits between transactions, so that several checkpoints
	// have something to commit.
	steady time.Duration
	// check compares a pipeline's target with the source, and adds what it finds to r.
	check func(ctx context.Context, v *victim, db *database, w *workload.Workload, r *result) error
}

// sinks are the sinks by their name on the command line.
var sinks = map[string]sinkKind{
	"iceberg": {victims: icebergVictims, check: check},
	// A snapshot of a table without a key that is cut off begins anew, and messages can't be
	// taken back: it has little to read.
	"kafka": {victims: kafkaVictims, check: checkTopics, firstEvents: 1, steady: 40 * time.Millisecond},
}

func icebergVictims(config, *database) []*victim {
	// Every snapshot of every table is kept, so that each checkpoint can be looked at.
	keep := map[string]string{"write.mode": "upsert"}
	keepAppend := map[string]string{"write.mode": "append"}
	for _, sink := range []map[string]string{keep, keepAppend} {
		for k, v := range keepSnapshots {
			sink[k] = v
		}
	}
	return []*victim{
		{mode: "upsert", pipeline: process.Pipeline{Name: "crash-upsert", Sink: keep,
			Settings: map[string]string{"parallelism": "2", "state.backend.type": "pebble"}}},
		{mode: "append", pipeline: process.Pipeline{Name: "crash-append", Sink: keepAppend,
			Settings: map[string]string{"parallelism": "1", "state.backend.type": "hashmap"}}},
	}
}

// newVictims makes the two pipelines.
func newVictims(c config, binary string, db *database, disturber *disturber) ([]*victim, error) {
	points, err := findPoints(c.sink)
	if err != nil {
		return nil, err
	}
	fmt.Printf("named points: %s\n", strings.Join(points, ", "))
	if c.sink == "kafka" {
		points = focus(points, "kafka-")
	}
	victims := sinks[c.sink].victims(c, db)
	for i, v := range victims {
		v.binary, v.points, v.offset = binary, points, i*len(points)/len(victims)
		v.rng = newRand(c.seed, uint64(i)+100)
		p := &v.pipeline
		p.Dir, p.SourceURL, p.Tables = filepath.Join(c.dir, v.mode), db.url, db.tables
		p.Settings["execution.checkpointing.interval"] = "500ms"
		p.Source = map[string]string{"port": db.proxyPort(), "scan.incremental.snapshot.chunk.size": "2000"} // many chunks
		v.disturber = disturber
		if err := v.write(); err != nil {
			return nil, err
		}
	}
	return victims, nil
}

// write writes the victim's document, with an address of its own.
func (v *victim) write() error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	v.pipeline.Settings["metrics.address"] = address
	v.health = "http://" + address + "/healthz"
	if err := v.pipeline.Write(); err != nil || len(v.ordeals) == 0 {
		return err
	}
	return v.writeTwin()
}
