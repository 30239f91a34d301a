package compose

import (
	"fmt"
	"maps"
	"sync"
)

// attempt is what the operators of one execution share beside the graph.
type attempt struct {
	number int
	// recovered is closed when the committer has brought the target to the
	// restored checkpoint.
	recovered chan struct{}

	mu        sync.Mutex
	positions map[int64]uint64 // by checkpoint
	final     uint64           // where the source ended
	ended     bool
}

// attempt returns what the operators of execution number share. Executions do
// not overlap.
func (j *Job) attempt(number int) *attempt {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.current == nil || j.current.number != number {
		j.current = &attempt{number: number, recovered: make(chan struct{}), positions: map[int64]uint64{}}
	}
	return j.current
}

func (a *attempt) setPosition(id int64, position uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.positions[id] = position
}

// finished says that the source ended at position: checkpoints after that are at it.
func (a *attempt) finished(position uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.final, a.ended = position, true
}

// position returns the log position of a checkpoint whose barrier has come.
func (a *attempt) position(id int64) (uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.positions[id]; ok {
		return p, nil
	}
	if a.ended {
		return a.final, nil
	}
	return 0, fmt.Errorf("checkpoint %d has a barrier, but no position of the source", id)
}

// forget drops the positions up to checkpoint id.
func (a *attempt) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.positions, func(other int64, _ uint64) bool { return other <= id })
}
