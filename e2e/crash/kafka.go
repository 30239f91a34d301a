package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/workload"
)

// The transactions of a run live for little longer than a checkpoint may take.
const (
	checkpointTimeout  = 8 * time.Second
	transactionTimeout = 10 * time.Second
	// outlived is when the broker has aborted what was left alone: it looks every second.
	outlived = transactionTimeout + 3*time.Second
)

// kafkaVictims write into topics of their own on the same broker.
func kafkaVictims(_ config, db *database) []*victim {
	var victims []*victim
	for mode, settings := range map[string]map[string]string{
		"two": {"parallelism": "2", "state.backend.type": "pebble"},
		"one": {"parallelism": "1", "state.backend.type": "hashmap"},
	} {
		settings["execution.checkpointing.timeout"] = checkpointTimeout.String()
		sink := map[string]string{"properties.transaction.timeout.ms": strconv.FormatInt(transactionTimeout.Milliseconds(), 10)}
		victims = append(victims, &victim{mode: mode, ordeals: []ordealKind{late, paused, twinned},
			pipeline: process.Pipeline{Name: "crash-" + mode, Kafka: db.broker.URL, Sink: sink, Settings: settings}})
	}
	if victims[0].mode == "one" { // the same for each run of a seed
		victims[0], victims[1] = victims[1], victims[0]
	}
	return victims
}

// checkTopics compares a pipeline's topics with their source, as a consumer of committed
// messages sees them, and looks at the markers: each checkpoint was committed once.
func checkTopics(ctx context.Context, v *victim, db *database, w *workload.Workload, r *result) error {
	source, disconnect, err := db.source(ctx, db.url)
	if err != nil {
		return err
	}
	defer disconnect()
	for _, table := range w.Tables() {
		m, err := readers.CompareMessages(ctx, source, table, db.broker.URL, v.pipeline.Topic(table), v.complete)
		if err != nil {
			return fmt.Errorf("%s, table %s: %w", v.pipeline.Name, table, err)
		}
		r.lost += m.Missing + m.Different
		r.doubled += m.Extra + m.Doubled
		r.broken += m.Broken
		fmt.Printf("%s: %s\n", v.pipeline.Name, m)
	}
	return checkMarkers(ctx, v, db, r)
}

// checkMarkers looks at the records that say which checkpoints are committed.
func checkMarkers(ctx context.Context, v *victim, db *database, r *result) error {
	committed, last := 0, int64(0)
	err := readers.ReadTopic(ctx, db.broker.URL, v.pipeline.Name+".checkpoints", func(m readers.Message) error {
		var marker struct{ Checkpoint int64 }
		if m.Value == nil {
			return fmt.Errorf("offset %d: a marker without a value", m.Offset)
		}
		if err := json.Unmarshal([]byte(*m.Value), &marker); err != nil {
			return fmt.Errorf("offset %d: %w", m.Offset, err)
		}
		if committed++; marker.Checkpoint <= last {
			r.doubled++
			fmt.Printf("%s: checkpoint %d was committed behind checkpoint %d\n", v.pipeline.Name, marker.Checkpoint, last)
		}
		last = marker.Checkpoint
		return nil
	})
	fmt.Printf("%s: %d checkpoints with messages, the last one is %d\n", v.pipeline.Name, committed, last)
	return err
}

// ordealKind is something that takes longer than a kill.
type ordealKind uint8

const (
	none    ordealKind = iota
	late               // killed with a prepared transaction, and not started before the broker has given it up
	paused             // stopped for longer than its transactions live, and then woken
	twinned            // so too, while another process takes its place
)

var ordealNames = [...]string{none: "none", late: "late", paused: "paused", twinned: "twinned"}

// ordealEvery is how many kills lie between two ordeals of a victim.
const ordealEvery = 6

// endure plans an ordeal, if kill k is one.
func (v *victim) endure(k int) (plan, bool) {
	if len(v.ordeals) == 0 || k%ordealEvery != ordealEvery-1 {
		return plan{}, false
	}
	n := k / ordealEvery
	p := plan{ordeal: v.ordeals[(n+v.offset)%len(v.ordeals)], after: time.Second + time.Duration(v.rng.Int64N(int64(3*time.Second)))}
	if p.ordeal == late {
		p.point, p.nth, p.after = []string{"kafka-commit", "kafka-prepared", "kafka-end-sent"}[n%3], 1+v.rng.IntN(3), 20*time.Second
	}
	return p, true
}

// pause lets a running process sleep, with or without a twin, and kills what is left.
// again says that it could not start since its server was away.
func (v *victim) pause(ctx context.Context, p *process.Process, plan plan) (again bool, err error) {
	launched := time.Now()
	select {
	case <-p.Done():
		return v.endedByItself(p, launched)
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(plan.after):
	}
	p.Signal(syscall.SIGSTOP)
	var twin *process.Process
	if plan.ordeal == twinned {
		// The server would wait for who is stopped.
		if err := v.disturber.disconnect(); err != nil {
			return false, err
		}
		if twin, err = process.Start(v.binary, []string{"run", v.twin.Path()}); err != nil {
			return false, err
		}
	}
	err = wait(ctx, outlived)
	p.Signal(syscall.SIGCONT)
	woken := time.Now()
	if err == nil {
		err = wait(ctx, 3*time.Second+time.Duration(v.rng.Int64N(int64(3*time.Second))))
	}
	ended := []*process.Process{p, twin}
	if v.rng.IntN(2) == 0 {
		ended = []*process.Process{twin, p}
	}
	for _, e := range ended {
		if e != nil {
			e.Kill()
			e.Wait()
		}
		if err == nil && twin != nil {
			err = wait(ctx, time.Duration(v.rng.Int64N(int64(2*time.Second))))
		}
	}
	if r := p.Wait(); err == nil && twin == nil && r.Code >= 0 {
		return v.endedByItself(p, launched, woken)
	}
	return false, err
}

// endedByItself says whether a process that did not wait to be killed is started again:
// its server was away at one of these times.
func (v *victim) endedByItself(p *process.Process, times ...time.Time) (again bool, err error) {
	r := p.Wait()
	for _, at := range times {
		again = again || v.disturber.disturbedStart(at)
	}
	if again && r.Code > 0 {
		return true, nil
	}
	return false, fmt.Errorf("beside a pause it ended by itself with exit code %d:\n%s", r.Code, r.Tail(40))
}

// writeTwin writes the document of the process that takes a stopped one's place.
func (v *victim) writeTwin() error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	v.twin = v.pipeline
	v.twin.Dir += "-twin"
	v.twin.Settings = maps.Clone(v.pipeline.Settings)
	v.twin.Settings["metrics.address"] = address
	v.twin.Settings["execution.checkpointing.dir"] = "file://" + v.pipeline.Dir + "/checkpoints"
	return v.twin.Write()
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// focus repeats the points of a sink between the others, so that every other named kill
// is at one of them.
func focus(points []string, prefix string) []string {
	var own, others, out []string
	for _, p := range points {
		if strings.HasPrefix(p, prefix) {
			own = append(own, p)
		} else {
			others = append(others, p)
		}
	}
	if len(own) == 0 {
		return points
	}
	for i, p := range others {
		out = append(out, own[i%len(own)], p)
	}
	return out
}
