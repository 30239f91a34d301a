package task

import "sync/atomic"

// Counters are the metrics of one subtask of one operator. They only grow.
type Counters struct {
	RecordsIn, RecordsOut, BytesOut atomic.Int64
	// IdleNanos and BlockedNanos are kept by the head of a chain: time without
	// input, and time spent waiting for consumers.
	IdleNanos, BlockedNanos atomic.Int64
	// AlignNanos is the time from the first to the last barrier of the newest
	// checkpoint.
	AlignNanos atomic.Int64

	// What the subtask has counted and not yet published: an atomic operation
	// per record would cost as much as passing it on.
	in, out, bytes int64
	_              [56]byte // nothing else on its cache lines
}

// flushEvery is the number of records after which counts are published. They are
// also published at each barrier and when the subtask has nothing to do.
const flushEvery = 128

// In counts records that came in. It is called by the subtask alone, as are Out and Flush.
func (c *Counters) In(records int) {
	if c.in += int64(records); c.in >= flushEvery {
		c.Flush()
	}
}

// Out counts records that were emitted, and their bytes.
func (c *Counters) Out(records, bytes int) {
	c.bytes += int64(bytes)
	if c.out += int64(records); c.out >= flushEvery {
		c.Flush()
	}
}

// Flush publishes the counts.
func (c *Counters) Flush() {
	if c.in != 0 {
		c.RecordsIn.Add(c.in)
	}
	if c.out != 0 || c.bytes != 0 {
		c.RecordsOut.Add(c.out)
		c.BytesOut.Add(c.bytes)
	}
	c.in, c.out, c.bytes = 0, 0, 0
}
