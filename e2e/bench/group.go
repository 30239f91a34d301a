package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
)

// runTimeout bounds one measured run.
const runTimeout = 20 * time.Minute

// bench is one run of a group.
type bench struct {
	config
	group  string
	binary string
	db     database
	dir    string
}

// measureGroup starts the group's database, fills its table and measures.
func measureGroup(ctx context.Context, c config, group string) error {
	b := &bench{config: c, group: group}
	var err error
	if b.binary, err = process.Build(ctx); err != nil {
		return err
	}
	defer process.RemoveBuilt()
	if b.dir, err = os.MkdirTemp("", "freshet-bench-*"); err != nil {
		return err
	}
	defer b.removeDir()
	if b.db, err = groups[group].start(ctx, c); err != nil {
		return err
	}
	defer b.db.close()
	fmt.Printf("%d rows, %d changes, %s\n", c.rows, c.changes, b.db.describe())
	if err := b.db.fill(ctx, c.rows); err != nil {
		return err
	}
	return groups[group].measure(ctx, b)
}

// measureIceberg measures snapshot and backlog, in append and in upsert mode. The
// backlog is written after both pipelines finished their snapshot and stopped, so
// upsert mode finds the old rows in a key index of the whole table.
func measureIceberg(ctx context.Context, b *bench) error {
	scan, err := best(3, func() (time.Duration, error) { return b.db.scanFloor(ctx) })
	if err != nil {
		return err
	}
	modes := []string{"append", "upsert"}
	for _, mode := range modes {
		if err := b.pipeline(mode).Write(); err != nil {
			return err
		}
		if err := b.measure(ctx, mode, "snapshot-"+mode, b.rows, scan); err != nil {
			return err
		}
	}
	drain, err := b.backlog(ctx)
	if err != nil {
		return err
	}
	for _, mode := range modes {
		if err := b.measure(ctx, mode, "backlog-"+mode, b.changes, drain); err != nil {
			return err
		}
	}
	return nil
}

// backlog writes the backlog and times the floor of it.
func (b *bench) backlog(ctx context.Context) (floor time.Duration, err error) {
	start := time.Now()
	if err := b.db.writeBacklog(ctx, b.changes, b.rows); err != nil {
		return 0, err
	}
	fmt.Printf("backlog written in %s\n", time.Since(start).Round(time.Second))
	return best(logFloors, func() (time.Duration, error) { return b.db.logFloor(ctx) })
}

func (b *bench) removeDir() {
	if b.keep {
		fmt.Printf("kept %s\n", b.dir)
	} else {
		os.RemoveAll(b.dir)
	}
}

// pipeline is what a user would write, at the defaults.
func (b *bench) pipeline(mode string) process.Pipeline {
	url, tables, options := b.db.source()
	return process.Pipeline{
		Name: "bench-" + mode, Dir: filepath.Join(b.dir, mode), SourceURL: url, Tables: tables, Source: options,
		Sink:     map[string]string{"write.mode": mode},
		Settings: map[string]string{"execution.checkpointing.interval": "10s", "parallelism": "2"},
	}
}

// measure runs the pipeline until it has caught up and prints the line.
func (b *bench) measure(ctx context.Context, mode, name string, rows int, floor time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	before := b.db.cpu(ctx)
	r, err := process.Run(ctx, b.binary, []string{"run", "--until", "caught-up", b.pipeline(mode).Path()})
	if err != nil {
		return err
	}
	if r.Code != 0 {
		return fmt.Errorf("%s: exit code %d:\n%s", name, r.Code, r.Tail(30))
	}
	b.report(ctx, name, rows, r, before, floor)
	return nil
}

// report prints the line of a figure; before is what the server had used.
func (b *bench) report(ctx context.Context, name string, rows int, r process.Result, before, floor time.Duration) {
	fmt.Printf("%s: %.2f s, %.2f us of CPU a row; server %.1f s of CPU; floor %.2f s\n", name, r.Wall.Seconds(),
		float64(r.CPU.Microseconds())/float64(rows), (b.db.cpu(ctx) - before).Seconds(), floor.Seconds())
	ours, best := float64(rows)/r.Wall.Seconds(), float64(rows)/floor.Seconds()
	fmt.Printf("bench %s-%s: %.0f rows/s, floor %.0f rows/s, ratio %.2f, cpu %.1f s, peak %d MiB\n",
		b.group, name, ours, best, ours/best, r.CPU.Seconds(), r.PeakBytes>>20)
}

// best runs a floor several times and returns the shortest time, the strictest floor.
func best(times int, fn func() (time.Duration, error)) (time.Duration, error) {
	var shortest time.Duration
	for range times {
		d, err := fn()
		if err != nil {
			return 0, err
		}
		if shortest == 0 || d < shortest {
			shortest = d
		}
	}
	return shortest, nil
}
