package iceberg

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// The keys of the writer's keyed state: key group (two bytes), number of the sink
// table (four bytes, both big endian), key as [schema.KeyEncoder] encodes it. The
// highest bit of the number tells partial rows from the index.
const (
	statePrefixLen = keygroup.PrefixLen + 4
	partialBit     = 1 << 31
)

// stateKey appends the state key of a row's key to dst.
func stateKey(dst []byte, group uint16, table uint32, key []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, group)
	dst = binary.BigEndian.AppendUint32(dst, table)
	return append(dst, key...)
}

// location is where a row lies.
type location struct {
	file     fileRef
	position uint32
}

// appendLocation encodes l as three varints, five to seven bytes as a rule.
func appendLocation(dst []byte, l location) []byte {
	dst = binary.AppendUvarint(dst, uint64(l.file.epoch))
	dst = binary.AppendUvarint(dst, uint64(l.file.seq))
	return binary.AppendUvarint(dst, uint64(l.position))
}

var errBadLocation = errors.New("iceberg: the key index holds an entry that is no location: the state is damaged")

func parseLocation(b []byte) (location, error) {
	epoch, n := binary.Uvarint(b)
	if n <= 0 {
		return location{}, errBadLocation
	}
	seq, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return location{}, errBadLocation
	}
	pos, k := binary.Uvarint(b[n+m:])
	if k <= 0 || n+m+k != len(b) {
		return location{}, errBadLocation
	}
	return location{fileRef{uint32(epoch), uint32(seq)}, uint32(pos)}, nil
}

// Flags of a pendingKey.
const (
	keyDeleted uint8 = 1 << iota // the row is gone; there is no location
	keyFresh                     // no row of the key can be in the index: a snapshot read
)

// pendingKey is one write of a key that the index does not know yet.
type pendingKey struct {
	prefix   uint64 // the key's first eight bytes, for sorting
	at, size uint32 // the key in pendingKeys.data
	seq, pos uint32 // file of the own epoch, and row in it
	order    uint32
	group    uint16
	flags    uint8
}

// pendingKeyBytes is the memory of one entry without the key's bytes.
const pendingKeyBytes = 40

// pendingKeys are the writes of a table since the index was last brought up to
// date, in the order of the log.
type pendingKeys struct {
	entries []pendingKey
	data    []byte
}

// bytes is the memory that is held, also where nothing is in it.
func (p *pendingKeys) bytes() int64 {
	return int64(cap(p.entries))*pendingKeyBytes + int64(cap(p.data))
}

// add notes a write of key, which it copies.
func (p *pendingKeys) add(group uint16, key []byte, seq, pos uint32, flags uint8) {
	e := pendingKey{at: uint32(len(p.data)), size: uint32(len(key)), seq: seq, pos: pos, order: uint32(len(p.entries)), group: group, flags: flags}
	if len(key) >= 8 {
		e.prefix = binary.BigEndian.Uint64(key)
	} else {
		var b [8]byte
		copy(b[:], key)
		e.prefix = binary.BigEndian.Uint64(b[:])
	}
	p.data = append(p.data, key...)
	p.entries = append(p.entries, e)
}

func (p *pendingKeys) key(e *pendingKey) []byte { return p.data[e.at : e.at+e.size] }

// appendStateKey appends the entry's state key. After sorting, data is read in
// no order: a key of eight bytes comes from the entry alone, without a cache miss.
func (p *pendingKeys) appendStateKey(dst []byte, table uint32, e *pendingKey) []byte {
	if e.size != 8 {
		return stateKey(dst, e.group, table, p.key(e))
	}
	return binary.BigEndian.AppendUint64(stateKey(dst, e.group, table, nil), e.prefix)
}

// same says whether two entries have the same key.
func (p *pendingKeys) same(a, b *pendingKey) bool {
	return a.group == b.group && a.prefix == b.prefix && a.size == b.size && (a.size <= 8 || bytes.Equal(p.key(a), p.key(b)))
}

func (p *pendingKeys) reset() { p.entries, p.data = p.entries[:0], p.data[:0] }

// shrink gives back memory that a burst has taken.
func (p *pendingKeys) shrink() { *p = pendingKeys{} }

// sort orders the entries by key group, key and then by the order of the log: a
// counting sort into the groups, then each of them by itself. scratch is memory that
// all tables share.
func (p *pendingKeys) sort(groups keygroup.Range, scratch *[]pendingKey) {
	n := groups.Len()
	starts := make([]int, n+1)
	for i := range p.entries {
		starts[int(p.entries[i].group)-groups.First+1]++
	}
	for i := range n {
		starts[i+1] += starts[i]
	}
	sorted := slices.Grow((*scratch)[:0], len(p.entries))[:len(p.entries)]
	*scratch = sorted
	next := slices.Clone(starts[:n])
	for i := range p.entries {
		g := int(p.entries[i].group) - groups.First
		sorted[next[g]] = p.entries[i]
		next[g]++
	}
	copy(p.entries, sorted)
	for g := range n {
		slices.SortFunc(p.entries[starts[g]:starts[g+1]], p.compare)
	}
}

func (p *pendingKeys) compare(a, b pendingKey) int {
	if a.prefix != b.prefix {
		if a.prefix < b.prefix {
			return -1
		}
		return 1
	}
	if a.size > 8 || b.size > 8 || a.size != b.size {
		if c := bytes.Compare(p.key(&a), p.key(&b)); c != 0 {
			return c
		}
	}
	return int(a.order) - int(b.order)
}

// runs calls fn with the writes of each key, in the order of the log. The entries
// must be sorted.
func (p *pendingKeys) runs(fn func(writes []pendingKey) error) error {
	for i := 0; i < len(p.entries); {
		j := i + 1
		for j < len(p.entries) && p.same(&p.entries[i], &p.entries[j]) {
			j++
		}
		if err := fn(p.entries[i:j]); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// keyIndex is the part of the keyed state that belongs to one table.
type keyIndex struct {
	store  state.Store
	table  uint32
	groups keygroup.Range
	// bulkMinimum is how many new locations make a bulk load worth it.
	bulkMinimum int
	// scratch is for sorting; all tables of a writer share it.
	scratch *[]pendingKey
}

// resolve brings the index up to date with the writes in p and empties p. With
// deletes set, every location that a key leaves, in the index or in p
// itself, is added there. epoch is that of the files in p.
func (x *keyIndex) resolve(ctx context.Context, p *pendingKeys, epoch uint32, deletes deleteSet) error {
	if len(p.entries) == 0 {
		return nil
	}
	p.sort(x.groups, x.scratch)
	r := resolver{index: x, pending: p, epoch: epoch, deletes: deletes}
	if err := r.lookUp(); err != nil {
		return fmt.Errorf("iceberg: looking keys up: %w", err)
	}
	if err := r.write(ctx); err != nil {
		return fmt.Errorf("iceberg: updating the key index: %w", err)
	}
	p.reset()
	return nil
}

// resolver is one run of keyIndex.resolve. After lookUp the last write of each
// key stands at the front of pending.entries, in key order.
type resolver struct {
	index   *keyIndex
	pending *pendingKeys
	epoch   uint32
	deletes deleteSet
	it      state.Iterator
	scratch []byte
	removed state.Batch
}

// lookUp walks the keys in order through one iterator.
func (r *resolver) lookUp() (err error) {
	defer func() {
		if r.it != nil {
			err = errors.Join(err, r.it.Close())
		}
	}()
	kept := 0
	err = r.pending.runs(func(writes []pendingKey) error {
		old, found, err := r.old(&writes[0])
		if err != nil {
			return err
		}
		last := writes[len(writes)-1]
		if r.deletes != nil {
			if found {
				r.deletes.add(old.file, old.position)
			}
			for _, w := range writes[:len(writes)-1] {
				if w.flags&keyDeleted == 0 {
					r.deletes.add(fileRef{r.epoch, w.seq}, w.pos)
				}
			}
		}
		if last.flags&keyDeleted != 0 {
			if found {
				r.removed.Delete(r.scratch)
			}
			return nil
		}
		// The entries are compacted behind the run that is being read.
		r.pending.entries[kept] = last
		kept++
		return nil
	})
	r.pending.entries = r.pending.entries[:kept]
	return err
}

// old returns where the index has the key of first; scratch is its state key then.
func (r *resolver) old(first *pendingKey) (location, bool, error) {
	if first.flags&keyFresh != 0 {
		return location{}, false, nil
	}
	r.scratch = r.pending.appendStateKey(r.scratch[:0], r.index.table, first)
	if r.it == nil {
		lower, upper := r.index.groups.Bounds()
		it, err := r.index.store.Iterate(lower, upper)
		if err != nil {
			return location{}, false, err
		}
		r.it = it
	}
	if !r.it.SeekGE(r.scratch) || !bytes.Equal(r.it.Key(), r.scratch) {
		return location{}, false, nil
	}
	l, err := parseLocation(r.it.Value())
	return l, err == nil, err
}

// write stores the new locations and removes the keys that are gone.
func (r *resolver) write(ctx context.Context) error {
	if r.removed.Len() > 0 {
		if err := r.index.store.Apply(&r.removed); err != nil {
			return err
		}
	}
	if len(r.pending.entries) >= r.index.bulkMinimum {
		return r.index.store.BulkLoad(ctx, r.entries())
	}
	var b state.Batch
	for k, v := range r.entries() {
		b.Set(k, v)
	}
	if b.Len() == 0 {
		return nil
	}
	return r.index.store.Apply(&b)
}

// entries yields the new content of the index in key order.
func (r *resolver) entries() iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		var key, value []byte
		for i := range r.pending.entries {
			e := &r.pending.entries[i]
			key = r.pending.appendStateKey(key[:0], r.index.table, e)
			value = appendLocation(value[:0], location{fileRef{r.epoch, e.seq}, e.pos})
			if !yield(key, value) {
				return
			}
		}
	}
}

// empty says whether the index holds no key of the table.
func (x *keyIndex) empty() (bool, error) { return x.rangeEmpty(x.table) }

func (x *keyIndex) rangeEmpty(table uint32) (empty bool, err error) {
	lower, upper := x.groups.Bounds()
	it, err := x.store.Iterate(lower, upper)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for g := x.groups.First; g <= x.groups.Last; g++ {
		from := stateKey(nil, uint16(g), table, nil)
		if it.SeekGE(from) && bytes.HasPrefix(it.Key(), from) {
			return false, nil
		}
	}
	return true, nil
}

// clear removes all that the state holds of the table, partial rows too.
func (x *keyIndex) clear() error {
	var b state.Batch
	for g := x.groups.First; g <= x.groups.Last; g++ {
		for _, n := range []uint32{x.table, x.table | partialBit} {
			b.DeleteRange(stateKey(nil, uint16(g), n, nil), stateKey(nil, uint16(g), n+1, nil))
		}
	}
	return x.store.Apply(&b)
}
