package pipeline

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// memoryLimit is the soft limit of the process's memory, unless GOMEMLIMIT says
// otherwise: near it the collector works harder instead of letting the heap double.
// Measured on snapshots of 3,000,000 rows: 280 MiB cost no more CPU than 360, and the
// peak, which the program itself and what the collector is late for belong to, is
// about 80 above it.
const memoryLimit = 280 << 20

// memoryHeadroom is by how much the limit lies above what is alive, where that is
// near it: many tables or wide rows need more, and the collector must not run all the time.
// Most of what is alive are buffers that it need not look into.
const memoryHeadroom = 1.4

// idleAfter is how long nothing must have moved before memory is given back.
const idleAfter = time.Second

// tendMemory limits the memory of the process and gives back what a burst of
// work has left once the pipeline is idle, until ctx is done. moved returns a
// figure that grows with every row.
func tendMemory(ctx context.Context, moved func() int64) {
	limit := int64(memoryLimit)
	limited := os.Getenv("GOMEMLIMIT") == ""
	if limited {
		debug.SetMemoryLimit(limit)
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(idleAfter)
	defer tick.Stop()
	last, freed := int64(-1), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if metrics.Read(live); limited {
			if want := limitFor(live[0].Value.Uint64()); want != limit {
				limit = want
				debug.SetMemoryLimit(limit)
			}
		}
		switch now := moved(); {
		case now != last:
			last, freed = now, false
		case !freed:
			debug.FreeOSMemory()
			forgetProgram()
			freed = true
		}
	}
}

// limitFor returns the limit for a heap of which so many bytes were alive at the last collection.
func limitFor(live uint64) int64 {
	return max(memoryLimit, int64(float64(live)*memoryHeadroom))
}
