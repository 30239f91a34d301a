package window

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet-cdc/freshet/runtime/state"
)

// StoreSet is a Set that lives in keyed state, so that it is checkpointed and
// may outgrow memory. Keys stay in memory up to a limit; beyond it they are
// asked from the store, behind a filter that knows most keys that are not there.
type StoreSet struct {
	store  state.Store
	prefix []byte
	upper  []byte
	limit  int64
	// fresh holds what the store has not got yet, kept what it has too.
	fresh, kept *MemSet
	stored      int
	waiting     int
	spilled     *bloom // set once kept does not hold all that is stored
	key, value  []byte
}

// storeSetKeyGroup holds the entries of all sets: a source has one subtask,
// which owns every key group.
const storeSetKeyGroup = 0

// OpenStoreSet returns set number slot of the store, with the content that the
// store has. limit bounds the keys in memory, in bytes as [Set.Bytes] counts them.
func OpenStoreSet(store state.Store, slot uint32, limit int64) (*StoreSet, error) {
	s := &StoreSet{store: store, prefix: setPrefix(slot), upper: setPrefix(slot + 1), limit: limit, fresh: NewMemSet(), kept: NewMemSet()}
	err := s.scan(func(key, value []byte) bool {
		s.stored++
		if isPartial(string(value)) {
			s.waiting++
		}
		s.keep(key, string(value))
		return true
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func setPrefix(slot uint32) []byte {
	b := binary.BigEndian.AppendUint16(nil, storeSetKeyGroup)
	return binary.BigEndian.AppendUint32(append(b, 's'), slot)
}

// scan walks over what the store has.
func (s *StoreSet) scan(fn func(key, value []byte) bool) error {
	it, err := s.store.Iterate(s.prefix, s.upper)
	if err != nil {
		return fmt.Errorf("window: reading seen keys: %w", err)
	}
	for ok := it.SeekGE(s.prefix); ok; ok = it.Next() {
		if !fn(it.Key()[len(s.prefix):], it.Value()) {
			break
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("window: reading seen keys: %w", err)
	}
	return nil
}

// keep caches a key that the store has, or gives the cache up when it is full.
func (s *StoreSet) keep(key []byte, value string) {
	if s.spilled != nil {
		s.spilled.add(key)
		return
	}
	s.kept.put(key, value)
	if s.kept.Bytes() > s.limit {
		s.spilled = newBloom()
		s.kept.all(func(k, _ string) bool { s.spilled.add([]byte(k)); return true })
		s.kept = NewMemSet()
	}
}

// lookup returns the value of key.
func (s *StoreSet) lookup(key []byte) (value string, ok bool, err error) {
	if value, ok = s.fresh.keys[string(key)]; ok {
		return value, true, nil
	}
	if s.spilled == nil {
		value, ok = s.kept.keys[string(key)]
		return value, ok, nil
	}
	if !s.spilled.may(key) {
		return "", false, nil
	}
	s.key = append(append(s.key[:0], s.prefix...), key...)
	s.value, ok, err = s.store.Get(s.value[:0], s.key)
	if err != nil {
		return "", false, fmt.Errorf("window: asking for a seen key: %w", err)
	}
	return string(s.value), ok, nil
}

// Add implements Set.
func (s *StoreSet) Add(key, partial []byte) error {
	was, ok, err := s.lookup(key)
	if err != nil {
		return err
	}
	value, changes := next(was, ok, partial)
	if !changes {
		return nil
	}
	return s.set(key, was, value)
}

func (s *StoreSet) set(key []byte, was, value string) error {
	if isPartial(was) {
		s.waiting--
	}
	if isPartial(value) {
		s.waiting++
	}
	s.fresh.put(key, value)
	if s.fresh.Bytes() > s.limit/2 {
		return s.Flush()
	}
	return nil
}

// Has implements Set.
func (s *StoreSet) Has(key []byte) (ok, partial bool, err error) {
	value, ok, err := s.lookup(key)
	return ok, isPartial(value), err
}

// Filled implements Set.
func (s *StoreSet) Filled(key []byte) error {
	was, _, err := s.lookup(key)
	if err != nil {
		return err
	}
	return s.set(key, was, markFilled)
}

// Partials implements Set.
func (s *StoreSet) Partials(fn func(key, partial []byte) bool) error {
	if s.waiting == 0 {
		return nil
	}
	goOn := true
	visit := func(key, partial []byte) bool {
		goOn = fn(key, partial)
		return goOn
	}
	if err := s.fresh.Partials(visit); err != nil || !goOn {
		return err
	}
	if s.spilled == nil {
		for k, v := range s.kept.keys {
			if _, newer := s.fresh.keys[k]; !newer && isPartial(v) && !visit([]byte(k), []byte(v[1:])) {
				return nil
			}
		}
		return nil
	}
	return s.scan(func(key, value []byte) bool {
		if _, newer := s.fresh.keys[string(key)]; newer || !isPartial(string(value)) {
			return true
		}
		return visit(key, value[1:])
	})
}

// Flush writes what is new to the store; it is called before every barrier.
func (s *StoreSet) Flush() error {
	if s.fresh.Len() == 0 {
		return nil
	}
	var b state.Batch
	var failed error
	s.fresh.all(func(k, value string) bool {
		s.key = append(append(s.key[:0], s.prefix...), k...)
		b.Set(s.key, []byte(value))
		if b.Bytes() > 1<<20 {
			failed = s.store.Apply(&b)
		}
		return failed == nil
	})
	if failed == nil && b.Len() > 0 {
		failed = s.store.Apply(&b)
	}
	if failed != nil {
		return fmt.Errorf("window: storing seen keys: %w", failed)
	}
	s.stored += s.fresh.Len()
	s.fresh.all(func(k, value string) bool { s.keep([]byte(k), value); return true })
	return s.fresh.Clear()
}

// Waiting implements Set.
func (s *StoreSet) Waiting() int { return s.waiting }

// Len implements Set.
func (s *StoreSet) Len() int { return s.stored + s.fresh.Len() }

// Bytes implements Set.
func (s *StoreSet) Bytes() int64 {
	n := s.fresh.Bytes() + s.kept.Bytes()
	if s.spilled != nil {
		n += bloomBits / 8
	}
	return n
}

// Clear implements Set.
func (s *StoreSet) Clear() error {
	if s.stored > 0 {
		var b state.Batch
		b.DeleteRange(s.prefix, s.upper)
		if err := s.store.Apply(&b); err != nil {
			return fmt.Errorf("window: clearing seen keys: %w", err)
		}
	}
	s.stored, s.waiting, s.spilled = 0, 0, nil
	s.fresh, s.kept = NewMemSet(), NewMemSet()
	return nil
}

// bloomBits makes 8 MiB: with 6 million keys one lookup in a hundred goes to
// the store in vain.
const bloomBits = 1 << 26

// bloom is a filter of keys: what it does not know was never added.
type bloom struct{ words []uint64 }

func newBloom() *bloom { return &bloom{words: make([]uint64, bloomBits/64)} }

// positions are seven places taken from one hash by double hashing.
func positions(key []byte, fn func(bit uint64) bool) bool {
	h := xxhash.Sum64(key)
	step := h>>33 | 1
	for range 7 {
		if !fn(h % bloomBits) {
			return false
		}
		h += step
	}
	return true
}

func (b *bloom) add(key []byte) {
	positions(key, func(bit uint64) bool { b.words[bit/64] |= 1 << (bit % 64); return true })
}

func (b *bloom) may(key []byte) bool {
	return positions(key, func(bit uint64) bool { return b.words[bit/64]&(1<<(bit%64)) != 0 })
}
