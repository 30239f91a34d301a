package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/stream"
)

// lostError is what a target says that has lost a prepared transaction.
type lostError struct{ id int64 }

func (e lostError) Error() string         { return fmt.Sprintf("transaction of checkpoint %d is lost", e.id) }
func (e lostError) LostCheckpoint() int64 { return e.id }

// losing has a target lose transactions when which says so, for good.
func losing(t *target, which func(id int64) bool) {
	gone := map[int64]bool{}
	t.lose = func(tx transaction) error {
		var id int64
		if _, err := fmt.Sscanf(tx.Name, "%d/", &id); err != nil {
			return err
		}
		if gone[id] || which(id) {
			gone[id] = true
			return lostError{id}
		}
		return nil
	}
}

// TestLostCheckpoint: what the target loses after its checkpoint is complete is processed
// again from the checkpoint before, in the same process and by later ones.
func TestLostCheckpoint(t *testing.T) {
	for seed := range uint64(3) {
		j := newJob(t, 1)
		j.chaos = newChaos(seed, 20)
		j.total, j.pace = 15_000, 200*time.Microsecond
		rnd := rand.New(rand.NewPCG(seed, 2))
		losses, first := 0, true
		losing(j.target, func(id int64) bool {
			// With one older checkpoint at least that stays committed.
			if id < 3 || losses == 12 || rnd.IntN(4) != 0 {
				return false
			}
			losses++
			return true
		})
		var env *stream.Env
		j.notified = func(id int64) {
			if first && id > 8 {
				first = false
				env.Stop() // a later process meets what the last commit has lost
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 20 {
			env = j.env()
			err := env.Run(ctx)
			if err == nil && !first {
				first = true
				j.notified = nil
				continue
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errChaos) && !errors.As(err, new(lostError)) {
				t.Fatal(err)
			}
		}
		if losses == 0 {
			t.Error("nothing was lost")
		}
		j.target.verify(t, j.total)
		t.Logf("seed %d: %d losses, %d restarts", seed, losses, j.metrics.Restarts.Load())
	}
}

// TestLostWithoutOlder: nothing to go back to is an error that ends the job.
func TestLostWithoutOlder(t *testing.T) {
	j := newJob(t, 1)
	j.total, j.pace = 0, 200*time.Microsecond
	losing(j.target, func(id int64) bool { return true })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := j.env().Run(ctx)
	if !errors.Is(err, stream.ErrLost) || !errors.As(err, new(lostError)) {
		t.Errorf("got %v", err)
	}
}
