package stream

import (
	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
)

// Retainer is implemented by elements with Release that may be given to several
// receivers: each but the first gets its own reference by Retain.
type Retainer interface{ Retain() }

// Weigher is implemented by elements that stand for more than one record: the
// metrics count records, and the queues are bounded in bytes too.
type Weigher = exchange.Weigher

// Binder is implemented by partitioners that need their own instance for each
// producing subtask (to count, or for buffers), or the number of key groups.
type Binder[T any] interface {
	Partitioner[T]
	// Bind returns the partitioner of one producing subtask of an attempt.
	Bind(producer, maxParallelism int) Partitioner[T]
}

// chooser is a partitioner that sends each element whole to one subtask: the
// runtime asks it directly, without the callback.
type chooser[T any] interface {
	choose(elem T, parallelism int) int
}

type forward[T any] struct{ producer int }

// Forward sends each element to the consumer with the producer's number. Both
// have the same parallelism.
func Forward[T any]() Partitioner[T] { return forward[T]{} }

func (f forward[T]) Bind(producer, _ int) Partitioner[T] { return forward[T]{producer: producer} }
func (f forward[T]) choose(T, int) int                   { return f.producer }
func (f forward[T]) Route(e T, _ int, emit func(int, T)) { emit(f.producer, e) }

type rebalance[T any] struct{ next int }

// Rebalance sends elements to all consumers in turn.
func Rebalance[T any]() Partitioner[T] { return &rebalance[T]{} }

// Bind lets producers start at different consumers.
func (r *rebalance[T]) Bind(producer, _ int) Partitioner[T] { return &rebalance[T]{next: producer} }

func (r *rebalance[T]) choose(_ T, parallelism int) int {
	if r.next >= parallelism {
		r.next %= parallelism
	}
	i := r.next
	r.next++
	return i
}

func (r *rebalance[T]) Route(e T, parallelism int, emit func(int, T)) {
	emit(r.choose(e, parallelism), e)
}

type broadcast[T any] struct{}

// Broadcast gives each element to every consumer; one with Release must have Retain.
func Broadcast[T any]() Partitioner[T] { return broadcast[T]{} }

func (broadcast[T]) Route(e T, parallelism int, emit func(int, T)) {
	retain(e, parallelism-1)
	for i := range parallelism {
		emit(i, e)
	}
}

// retain adds n references to elem. A type that can't is the user's own matter
// when its values hold nothing.
func retain[T any](elem T, n int) {
	if n <= 0 {
		return
	}
	if r, ok := any(elem).(Retainer); ok {
		for range n {
			r.Retain()
		}
	}
}

type keyBy[T any, H int32 | uint32] struct {
	hash           func(T) H
	maxParallelism int
}

// KeyBy sends elements with equal keys to the same consumer, the one that owns the key
// group of their hash, as Flink does. Package keygroup has Flink's hashes of
// scalar keys; equal keys must have equal hashes.
func KeyBy[T any, H int32 | uint32](hash func(T) H) Partitioner[T] {
	return keyBy[T, H]{hash: hash}
}

func (k keyBy[T, H]) Bind(_, maxParallelism int) Partitioner[T] {
	return keyBy[T, H]{hash: k.hash, maxParallelism: maxParallelism}
}

func (k keyBy[T, H]) choose(elem T, parallelism int) int {
	return keygroup.OperatorIndex(keygroup.Of(k.hash(elem), k.maxParallelism), k.maxParallelism, parallelism)
}

func (k keyBy[T, H]) Route(elem T, parallelism int, emit func(int, T)) {
	emit(k.choose(elem, parallelism), elem)
}
