package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// keepSnapshots are the sink options that keep every snapshot of a run.
var keepSnapshots = map[string]string{"history.expire.enabled": "false"}

// victim is a pipeline that gets killed.
type victim struct {
	mode     string
	pipeline process.Pipeline
	binary   string
	points   []string
	offset   int // where in points it begins, so that victims don't all meet the same
	rng      *rand.Rand
	kills    int            // so far
	killed   map[string]int // kills by point, "random" for those by the clock
	health   string         // the URL of /healthz
	ordeals  []ordealKind   // beside kills
	twin     process.Pipeline
	// disturber knows when the server was away.
	disturber *disturber
	// complete is when it was certain that the snapshot is complete and committed;
	// doneAt is the checkpoint at which the running process first said so, 0 before.
	complete time.Time
	doneAt   int64
}

func newRand(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// plan is how one process is going to die.
type plan struct {
	point string        // a named point, or empty
	nth   int           // the time it is reached
	after time.Duration // when it is killed from outside at the latest
	// ordeal is what else happens to it.
	ordeal ordealKind
}

// snapshotPoints are the named points in the middle of a snapshot.
func (v *victim) snapshotPoints() []string {
	var points []string
	for _, p := range v.points {
		if strings.Contains(p, "snapshot") {
			points = append(points, p)
		}
	}
	return points
}

// next plans kill k: the first ones meet the snapshot, then named points and
// random moments take turns.
func (v *victim) next(k int) plan {
	// Long enough for the process to get going and short enough to meet starts too.
	if p, ok := v.endure(k); ok {
		return p
	}
	p := plan{after: 200*time.Millisecond + time.Duration(v.rng.Int64N(int64(5*time.Second)))}
	if early := v.snapshotPoints(); k < 3 && len(early) > 0 {
		return plan{point: early[k%len(early)], nth: 2 + v.rng.IntN(6), after: 8 * time.Second}
	}
	if k%2 == 0 && len(v.points) > 0 {
		p.point = v.points[(k/2+v.offset)%len(v.points)]
		p.nth = 1 + v.rng.IntN(2)
		p.after = 8 * time.Second // points of the snapshot are not reached once it is over
		if len(v.ordeals) > 0 {
			p.after *= 2 // a checkpoint waits for a broker that is restarted
		}
		if strings.HasPrefix(p.point, "kafka-") {
			p.nth = 1 // some checkpoints have nothing to commit
		}
	}
	return p
}

// suffer runs the pipeline and kills it, n times; killed is called after each.
func (v *victim) suffer(ctx context.Context, n int, killed func()) error {
	if v.killed == nil {
		v.killed = map[string]int{}
	}
	for range n {
		if err := v.die(ctx, v.next(v.kills)); err != nil {
			return fmt.Errorf("pipeline %s, kill %d: %w", v.pipeline.Name, v.kills+1, err)
		}
		v.kills++
		killed()
	}
	fmt.Printf("%s: %v\n", v.pipeline.Name, v.killed)
	return nil
}

// die runs the pipeline once until it is killed. That it ends in another way is an
// error, unless its server was away when it started: then it starts again.
func (v *victim) die(ctx context.Context, plan plan) error {
	for {
		again, err := v.dieOnce(ctx, plan)
		if !again || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (v *victim) dieOnce(ctx context.Context, plan plan) (again bool, err error) {
	var env []string
	if plan.point != "" {
		env = append(env, fmt.Sprintf("FRESHET_CRASH_AT=%s:%d", plan.point, plan.nth))
	}
	launched := time.Now()
	p, err := process.Start(v.binary, []string{"run", v.pipeline.Path()}, env...)
	if err != nil {
		return false, err
	}
	v.doneAt = 0
	if plan.ordeal == paused || plan.ordeal == twinned {
		again, err := v.pause(ctx, p, plan)
		p.Kill()
		p.Wait()
		if !again {
			v.killed[ordealNames[plan.ordeal]]++
		}
		return again, err
	}
	outside := false
	deadline := time.After(plan.after)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
wait:
	for {
		select {
		case <-p.Done():
			break wait
		case <-deadline:
			outside = true
			p.Kill()
			break wait
		case <-look.C:
			v.lookAtHealth()
		case <-ctx.Done():
			p.Kill()
			p.Wait()
			return false, ctx.Err()
		}
	}
	r := p.Wait()
	if r.Signal != syscall.SIGKILL && r.Code > 0 && v.disturber.disturbedStart(launched) {
		return true, nil
	}
	if r.Signal != syscall.SIGKILL {
		return false, fmt.Errorf("it ended by itself with exit code %d:\n%s", r.Code, r.Tail(40))
	}
	if outside {
		v.killed["random"]++
	} else {
		v.killed[plan.point]++
	}
	if plan.ordeal == late {
		v.killed[ordealNames[late]]++
		return false, wait(ctx, outlived)
	}
	return false, nil
}

// lookAtHealth notes when the snapshot is complete, by what /healthz says: done, and
// two checkpoints later in the same process. The first of them may have begun before
// it was done, the second did not.
func (v *victim) lookAtHealth() {
	if !v.complete.IsZero() {
		return
	}
	client := http.Client{Timeout: 200 * time.Millisecond}
	response, err := client.Get(v.health)
	if err != nil {
		return // not up yet, or no more
	}
	defer response.Body.Close()
	var health struct {
		SnapshotDone bool
		Checkpoint   int64
	}
	if json.NewDecoder(response.Body).Decode(&health) != nil {
		return
	}
	switch {
	case !health.SnapshotDone:
		v.doneAt = 0
	case v.doneAt == 0:
		v.doneAt = health.Checkpoint // 0 when the process has none yet: then it has to wait for one
	case health.Checkpoint >= v.doneAt+2:
		v.complete = time.Now()
	}
}

// finish lets the pipeline catch up and end by itself.
func (v *victim) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	r, err := process.Run(ctx, v.binary, []string{"run", "--until", "caught-up", v.pipeline.Path()})
	if err != nil {
		return err
	}
	if r.Code != 0 {
		return fmt.Errorf("pipeline %s: catching up ended with exit code %d:\n%s", v.pipeline.Name, r.Code, r.Tail(40))
	}
	return nil
}

// pointPattern finds a call with a name, or a constant that is one.
var pointPattern = regexp.MustCompile(`(?:[rR]eached\(|\.point\(|\tPoint[A-Z]\w* += )"([a-z0-9]+(?:[._-][a-z0-9]+)+)"`)

// pointAtEnd is only passed by a job that ends by itself.
const pointAtEnd = "stream.job.finished"

// findPoints finds the named points in the sources, without those of other sinks, so that
// a new one can't be forgotten.
func findPoints(sink string) ([]string, error) {
	root, err := servers.Root()
	if err != nil {
		return nil, err
	}
	var points []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			other := filepath.Dir(rel) == "sink" && rel != filepath.Join("sink", sink)
			if rel == "e2e" || other || strings.HasPrefix(d.Name(), ".") && rel != "." {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range pointPattern.FindAllSubmatch(data, -1) {
			if p := string(m[1]); p != pointAtEnd && !slices.Contains(points, p) {
				points = append(points, p)
			}
		}
		return err
	})
	slices.Sort(points)
	return points, err
}
