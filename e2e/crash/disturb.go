package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
)

// disturber makes the server go away and cuts connections to it while pipelines run.
type disturber struct {
	database *database
	rng      *rand.Rand

	mu                sync.Mutex
	restarts, cuts    int
	away              bool
	awayFrom, awayEnd time.Time // the last time that the server could not be reached
}

// run disturbs, over and over, until ctx ends.
func (d *disturber) run(ctx context.Context) error {
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500*time.Millisecond + time.Duration(d.rng.Int64N(int64(3*time.Second)))):
		}
		var err error
		switch n % 3 {
		case 0:
			err = d.cutWithin(ctx)
		case 1:
			// What is begun is brought to its end: a run that ends needs its server.
			err = d.restart(context.WithoutCancel(ctx))
		case 2:
			err = d.disconnect()
		}
		if err != nil {
			return fmt.Errorf("disturb the server: %w", err)
		}
	}
}

// cutWithin ends every connection after a random number of bytes, most likely in
// the middle of an event or a row.
func (d *disturber) cutWithin(ctx context.Context) error {
	toxic, err := d.database.proxy.AddToxic("cut", "limit_data", "downstream", 1, toxiproxy.Attributes{"bytes": 1000 + d.rng.Int64N(300_000)})
	if err != nil {
		return err
	}
	// A pipeline that starts meanwhile may need more bytes than that to get going.
	d.leave()
	defer d.comeBack()
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	d.count(&d.cuts)
	return d.database.proxy.RemoveToxic(toxic.Name)
}

// disconnect ends all connections and refuses new ones for a moment.
func (d *disturber) disconnect() error {
	d.leave()
	defer d.comeBack()
	if err := d.database.proxy.Disable(); err != nil {
		return err
	}
	time.Sleep(time.Duration(d.rng.Int64N(int64(700 * time.Millisecond))))
	d.count(&d.cuts)
	return d.database.proxy.Enable()
}

// restart ends the server, as a crash does or in good order, and starts it again.
func (d *disturber) restart(ctx context.Context) error {
	d.leave()
	defer d.comeBack()
	end := d.database.server.Kill
	if d.rng.IntN(2) == 0 {
		end = d.database.server.Stop
	}
	if err := end(ctx); err != nil {
		return err
	}
	d.count(&d.restarts)
	return d.database.server.Start(ctx)
}

func (d *disturber) count(n *int) {
	d.mu.Lock()
	*n++
	d.mu.Unlock()
}

func (d *disturber) leave() {
	d.mu.Lock()
	d.away, d.awayFrom = true, time.Now()
	d.mu.Unlock()
}

func (d *disturber) comeBack() {
	d.mu.Lock()
	d.away, d.awayEnd = false, time.Now()
	d.mu.Unlock()
}

// startTime is how long a pipeline may take to reach its server after its launch.
// From then on it waits for a server that goes away; before, it says so and ends.
const startTime = 10 * time.Second

// disturbedStart reports whether the server was away when a process that was
// launched at this time wanted to reach it.
func (d *disturber) disturbedStart(launched time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.awayFrom.IsZero() {
		return false
	}
	return d.awayFrom.Before(launched.Add(startTime)) && (d.away || d.awayEnd.After(launched))
}
