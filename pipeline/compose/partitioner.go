package compose

import (
	"github.com/freshet-cdc/freshet/runtime/stream"
)

// partitioner splits batches over the writers: a counting sort of the row
// numbers by owner, into one array that the selection vectors share. It is used
// by one producing subtask.
type partitioner struct {
	next   int // the writer of the next batch without a key
	counts []int32
}

var _ stream.Binder[element] = (*partitioner)(nil)

// Bind returns the partitioner of one producing subtask.
func (p *partitioner) Bind(producer, _ int) stream.Partitioner[element] {
	return &partitioner{next: producer}
}

// Route gives a change to every writer, a batch without owners to the next one
// in turn, and splits every other batch.
func (p *partitioner) Route(e element, parallelism int, emit func(int, element)) {
	owners := e.owners
	e.owners = nil
	switch {
	case e.Change != nil:
		for i := range parallelism {
			emit(i, e)
		}
	case parallelism == 1:
		emit(0, e)
	case owners == nil:
		p.next = (p.next + 1) % parallelism
		emit(p.next, e)
	default:
		p.split(e, owners, parallelism, emit)
	}
}

// split gives each owner its rows, in their order.
func (p *partitioner) split(e element, owners []uint16, parallelism int, emit func(int, element)) {
	if len(p.counts) < parallelism+1 {
		p.counts = make([]int32, parallelism+1)
	}
	counts := p.counts[:parallelism+1]
	clear(counts)
	for _, owner := range owners {
		counts[owner+1]++
	}
	receivers, last := 0, 0
	for i := range parallelism {
		if counts[i+1] > 0 {
			receivers, last = receivers+1, i
		}
		counts[i+1] += counts[i]
	}
	switch receivers {
	case 0: // no rows at all
		emit(0, e)
		return
	case 1:
		emit(last, e)
		return
	}
	rows := make([]int32, len(owners))
	for row, owner := range owners {
		rows[counts[owner]] = int32(row)
		counts[owner]++
	}
	e.Batch.Retain(receivers - 1)
	start := int32(0)
	for i := range parallelism {
		end := counts[i] // where the next one begins, now that all are placed
		if end > start {
			part := e
			part.Select = rows[start:end:end]
			emit(i, part)
		}
		start = end
	}
}
