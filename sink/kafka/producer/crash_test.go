package producer

import (
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// kept is a checkpoint that was stored.
type kept struct {
	id      int64
	next    int
	pending []txn.Committable
}

// TestCrashes lets processes go at random places, sometimes with what they had prepared
// aborted by the broker, and starts the next one from the last checkpoint. In the end each
// record is visible once. TXN_CRASHES says how many. A real broker may be killed meanwhile:
// a process that meets an error is one that crashed.
func TestCrashes(t *testing.T) {
	rounds := 12
	if n, err := strconv.Atoi(os.Getenv("TXN_CRASHES")); err == nil {
		rounds = n
	}
	each(t, func(t *testing.T, c *cluster) {
		rng := rand.New(rand.NewPCG(uint64(c.version), 7))
		var stored []kept
		lost := 0
		for round := 0; round < rounds || len(stored) == 0; {
			p := c.resume(stored)
			if p == nil { // what the newest checkpoint holds is not there any more
				stored, lost = stored[:len(stored)-1], lost+1
				continue
			}
			round++
			stored = c.live(p, rng, stored)
			p.abandon()
			if n := len(stored); n > 0 && rng.IntN(3) == 0 {
				for _, tx := range stored[n-1].pending {
					c.abort(tx.ID)
				}
			}
		}
		for c.resume(stored) == nil {
			stored = stored[:len(stored)-1]
		}
		t.Logf("%d crashes, %d checkpoints gone back from, %d records", rounds, lost, c.next)
		c.want(c.next)
	})
}

// resume starts a process from the newest checkpoint; nil if it is lost.
func (c *cluster) resume(stored []kept) *Producer {
	c.t.Helper()
	r := txn.Restore{}
	c.next = 0
	if n := len(stored); n > 0 {
		k := stored[n-1]
		r = txn.Restore{Restored: true, Checkpoint: k.id, Pending: k.pending}
		c.next = k.next
	}
	for begun := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		p, err := Open(c.t.Context(), c.config(), r)
		var lost *txn.LostError
		switch {
		case err == nil:
			c.t.Cleanup(p.abandon)
			return p
		case errors.As(err, &lost):
			return nil
		case c.fake != nil || isFinal(err) || time.Since(begun) > 2*time.Minute:
			c.t.Fatal(err)
		}
	}
}

// isFinal reports errors that a broker which comes back doesn't end.
func isFinal(err error) bool {
	var ahead *txn.AheadError
	var foreign *txn.ForeignError
	return errors.As(err, &ahead) || errors.As(err, &foreign) || errors.Is(err, txn.ErrOrder)
}

// failed takes an error of a real cluster for a crash.
func (c *cluster) failed(err error) bool {
	c.t.Helper()
	if err != nil && (c.fake != nil || isFinal(err)) {
		c.t.Fatal(err)
	}
	return err != nil
}

// live runs a process until it crashes: amid writing, behind Prepare, behind storing
// the checkpoint, or behind the commit.
func (c *cluster) live(p *Producer, rng *rand.Rand, stored []kept) []kept {
	id := int64(0)
	if n := len(stored); n > 0 {
		id = stored[n-1].id
	}
	for {
		for range 1 + rng.IntN(8) {
			c.next++
			if c.failed(p.Produce(c.t.Context(), c.record())) {
				return stored
			}
		}
		if rng.IntN(6) == 0 {
			return stored
		}
		id++
		pending, err := p.Prepare(c.t.Context(), id, uint64(c.next))
		if c.failed(err) || rng.IntN(6) == 0 {
			return stored
		}
		stored = append(stored, kept{id: id, next: c.next, pending: pending})
		if rng.IntN(6) == 0 {
			return stored
		}
		if c.failed(p.Commit(c.t.Context(), id)) || rng.IntN(6) == 0 {
			return stored
		}
	}
}
