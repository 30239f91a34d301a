package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// disturber makes the server go away and cuts connections to it while pipelines run.
type disturber struct {
	database *database
	rng      *rand.Rand

	mu             sync.Mutex
	restarts, cuts int
	brokerRestarts int
	// absences are the times that a server could not be reached, in order.
	absences []absence
}

// absence is a time from begin to end, which is zero while it lasts.
type absence struct{ begin, end time.Time }

// run disturbs, over and over, until ctx ends.
func (d *disturber) run(ctx context.Context) error {
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.rest()):
		}
		var err error
		kind := n % 3
		if d.database.broker != nil {
			kind = (n + 3) % 4 // the broker first
		}
		switch kind {
		case 0:
			err = d.cutWithin(ctx)
		case 1:
			// What is begun is brought to its end: a run that ends needs its server.
			err = d.restart(context.WithoutCancel(ctx), d.database.server, &d.restarts)
		case 2:
			err = d.disconnect()
		case 3:
			err = d.restart(context.WithoutCancel(ctx), d.database.broker, &d.brokerRestarts)
		}
		if err != nil {
			return fmt.Errorf("disturb the server: %w", err)
		}
	}
}

// rest is how long nothing is disturbed. A broker needs seconds to come back, and work
// is to be done in between.
func (d *disturber) rest() time.Duration {
	random := time.Duration(d.rng.Int64N(int64(3 * time.Second)))
	if d.database.broker != nil {
		return 3*time.Second + 2*random
	}
	return 500*time.Millisecond + random
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

// restart ends a server, as a crash does or in good order, and starts it again.
func (d *disturber) restart(ctx context.Context, server *servers.Server, n *int) error {
	d.leave()
	defer d.comeBack()
	end := server.Kill
	if d.rng.IntN(2) == 0 {
		end = server.Stop
	}
	if err := end(ctx); err != nil {
		return err
	}
	d.count(n)
	return server.Start(ctx)
}

func (d *disturber) count(n *int) {
	d.mu.Lock()
	*n++
	d.mu.Unlock()
}

func (d *disturber) leave() {
	d.mu.Lock()
	d.absences = append(d.absences, absence{begin: time.Now()})
	d.mu.Unlock()
}

// comeBack ends the absence that has begun first.
func (d *disturber) comeBack() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.absences {
		if d.absences[i].end.IsZero() {
			d.absences[i].end = time.Now()
			return
		}
	}
}

// startTime is how long a pipeline may take to reach its server after its launch.
// From then on it waits for a server that goes away; before, it says so and ends.
const startTime = 10 * time.Second

// disturbedStart reports whether the server was away when a process that was
// launched at this time wanted to reach it.
func (d *disturber) disturbedStart(launched time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.absences {
		if a.begin.Before(launched.Add(startTime)) && (a.end.IsZero() || a.end.After(launched)) {
			return true
		}
	}
	return false
}
