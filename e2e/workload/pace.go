package workload

import (
	"context"
	"sync"
	"time"
)

// Gate holds writers back: to a rate, while paused, or beyond a limit. The zero
// value lets everything pass. Its Pace is meant for Config.Pace.
type Gate struct {
	// Rate is the number of row changes a second that may pass, 0 for any.
	Rate int

	mu      sync.Mutex
	paused  bool
	limited bool
	limit   int64
	opened  chan struct{} // closed when something changed
	start   time.Time
}

// Pause makes the writers wait before their next transaction.
func (g *Gate) Pause() { g.change(func() { g.paused = true }) }

// Resume lets paused writers go on.
func (g *Gate) Resume() { g.change(func() { g.paused = false }) }

// Limit lets writers go on until that many row changes are committed.
func (g *Gate) Limit(changes int64) { g.change(func() { g.limited, g.limit = true, changes }) }

func (g *Gate) change(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fn()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

// Pace blocks until a transaction may start.
func (g *Gate) Pace(ctx context.Context, changes int64) error {
	for {
		wait, opened := g.wait(changes)
		if wait == 0 && opened == nil {
			return ctx.Err()
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-opened:
		case <-timer:
			return ctx.Err()
		}
	}
}

// wait says how long to wait, or until what.
func (g *Gate) wait(changes int64) (time.Duration, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused || g.limited && changes >= g.limit {
		if g.opened == nil {
			g.opened = make(chan struct{})
		}
		return 0, g.opened
	}
	if g.Rate == 0 {
		return 0, nil
	}
	if g.start.IsZero() {
		g.start = time.Now()
	}
	ahead := time.Duration(float64(changes)/float64(g.Rate)*float64(time.Second)) - time.Since(g.start)
	return max(0, ahead), nil
}
