package split

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Never is the Stop of a partition that is read as long as the pipeline runs.
const Never int64 = -1

// ErrOrder is a record that lies before those that were read.
var ErrOrder = errors.New("the partition went back")

// ErrLost is wrapped by every LostError.
var ErrLost = errors.New("the broker does not have the records any more")

// LostError is a partition whose next record is gone.
type LostError struct {
	Key
	// Next is the offset to go on from; Start and End are what the broker has.
	Next, Start, End int64
}

func (e *LostError) Error() string {
	if e.Next > e.End {
		return fmt.Sprintf("%s: %v: offset %d is behind its end, %d: the topic was truncated or is another one (start the pipeline anew)", e.Key, ErrLost, e.Next, e.End)
	}
	return fmt.Sprintf("%s: %v: offset %d was deleted, the first one left is %d (set properties.auto.offset.reset to earliest to go on without the %d between, or start the pipeline anew)",
		e.Key, ErrLost, e.Next, e.Start, e.Start-e.Next)
}

func (e *LostError) Unwrap() error { return ErrLost }

// Key names a partition.
type Key struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

func (k Key) String() string { return fmt.Sprintf("topic %s, partition %d", k.Topic, k.Partition) }

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Topic, o.Topic), cmp.Compare(k.Partition, o.Partition))
}

// Split is one partition.
type Split struct {
	Key
	// TopicID tells a topic from another one that has its name later; empty where the broker has none.
	TopicID string `json:"topicId,omitempty"`
	// Next is the offset that is read next, Stop the one that is not read any more.
	Next int64 `json:"next"`
	Stop int64 `json:"stop"`
}

// done says that all is read that is to be.
func (s *Split) done() bool { return s.Stop != Never && s.Next >= s.Stop }

// Set is the partitions of a source. It belongs to one goroutine.
type Set struct {
	splits   map[Key]*Split
	open     map[Key]map[int64]bool // the producers whose transactions have begun in a partition, and not ended
	opened   int
	position uint64
}

// New returns an empty set.
func New() *Set { return &Set{splits: map[Key]*Split{}, open: map[Key]map[int64]bool{}} }

// Add adds a partition. The position grows by its next offset.
func (s *Set) Add(sp Split) error {
	if s.splits[sp.Key] != nil {
		return fmt.Errorf("%s is there twice", sp.Key)
	}
	if sp.Next < 0 {
		return fmt.Errorf("%s: offset %d", sp.Key, sp.Next)
	}
	s.splits[sp.Key] = &sp
	s.position += uint64(sp.Next)
	return nil
}

// Get returns a copy of a partition.
func (s *Set) Get(k Key) (Split, bool) {
	sp := s.splits[k]
	if sp == nil {
		return Split{}, false
	}
	return *sp, true
}

// Len returns the number of partitions.
func (s *Set) Len() int { return len(s.splits) }

// All returns copies of all partitions, in order.
func (s *Set) All() []Split {
	out := make([]Split, 0, len(s.splits))
	for _, sp := range s.splits {
		out = append(out, *sp)
	}
	slices.SortFunc(out, func(a, b Split) int { return a.compare(b.Key) })
	return out
}

// Position returns the log position.
func (s *Set) Position() uint64 { return s.position }

// Record takes note of a record and returns the position behind it; use says that it is to
// be read, and not behind the partition's end.
func (s *Set) Record(k Key, offset int64) (position uint64, use bool, err error) {
	sp := s.splits[k]
	switch {
	case sp == nil:
		return 0, false, fmt.Errorf("%s is not read", k)
	case offset < sp.Next:
		return 0, false, fmt.Errorf("%s: %w: offset %d came after %d", k, ErrOrder, offset, sp.Next-1)
	case sp.Stop != Never && offset >= sp.Stop:
		s.move(sp, max(sp.Next, sp.Stop))
		return s.position, false, nil
	}
	s.move(sp, offset+1)
	return s.position, true, nil
}

func (s *Set) move(sp *Split, next int64) {
	s.position += uint64(next - sp.Next)
	sp.Next = next
}

// Emptied takes note that the broker has nothing of a partition before offset: a partition
// whose end lies there is done.
func (s *Set) Emptied(k Key, offset int64) {
	if sp := s.splits[k]; sp != nil && sp.Stop != Never && !sp.done() && offset >= sp.Stop {
		s.move(sp, sp.Stop)
	}
}

// Begin takes note of a record of a transaction of producer, End of the end of one.
func (s *Set) Begin(k Key, producer int64) {
	m := s.open[k]
	if m == nil {
		m = map[int64]bool{}
		s.open[k] = m
	}
	if !m[producer] {
		m[producer] = true
		s.opened++
	}
}

// End see Begin.
func (s *Set) End(k Key, producer int64) {
	if s.open[k][producer] {
		delete(s.open[k], producer)
		s.opened--
	}
}

// Between says that no transaction has begun and not ended.
func (s *Set) Between() bool { return s.opened == 0 }

// Done says that all partitions have been read up to their ends; a set in which one has no
// end never is.
func (s *Set) Done() bool {
	for _, sp := range s.splits {
		if !sp.done() {
			return false
		}
	}
	return true
}

// Check compares a partition that a checkpoint keeps with what the broker has.
func Check(sp Split, start, end int64) error {
	if sp.Next < start && !sp.done() || sp.Next > end {
		return &LostError{Key: sp.Key, Next: sp.Next, Start: start, End: end}
	}
	return nil
}
