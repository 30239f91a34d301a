package e2e

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// TestStopAtAnyTime sends SIGTERM at random moments of the start, the first
// milliseconds, the checks, the opening of the pipeline and the snapshot among them. Each
// run ends with exit code 0, and in the end nothing is missing or there twice.
func TestStopAtAnyTime(t *testing.T) {
	url := newDatabase(t)
	conn := connect(t, url)
	execute(t, conn, "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t SELECT i, repeat('v', 50) FROM generate_series(1, 50000) i")
	p := newPipeline(t, "stop-any", url, nil)
	runs := 40
	for i := range runs {
		execute(t, conn, fmt.Sprintf("UPDATE t SET v = v || '.' WHERE id %% %d = 0; INSERT INTO t VALUES (%d, 'later')", runs, 1_000_000+i))
		run := start(t, p)
		delay := time.Duration(rand.Int64N(int64(1500 * time.Millisecond)))
		if i%3 == 0 {
			delay /= 10
		}
		time.Sleep(delay)
		run.Stop()
		select {
		case <-run.Done():
		case <-time.After(runTimeout):
			t.Fatalf("freshet did not end after SIGTERM:\n%s", run.Output())
		}
		r := run.Wait()
		// Before the Go runtime is up nobody can catch a signal; nothing has begun then.
		if r.Signal == syscall.SIGTERM && r.CPU < 40*time.Millisecond {
			continue
		}
		if r.Code != 0 {
			t.Errorf("SIGTERM after %s: exit code %d (signal %v, %s of CPU)\n%s", delay, r.Code, r.Signal, r.CPU, r.Tail(30))
		}
	}
	catchUp(t, p)
	equal(t, p, "public.t")
}
