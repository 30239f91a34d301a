package iceberg

import (
	"bytes"
	"fmt"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/schema"
)

// coalescer finds the last event of each key among rows in the order of the log.
// It is reused; its memory is that of the largest group of rows so far.
type coalescer struct {
	slots []uint32 // a hash table of entries, 0 is free
	seen  []coalesced
}

// coalesced is one key: its last event, and whether its first was a read.
type coalesced struct {
	hash      uint32
	part, row int32
	op        schema.Op
	firstRead bool
}

// reset makes room for rows keys.
func (c *coalescer) reset(rows int) {
	size := 64
	for size < 2*rows {
		size *= 2
	}
	if size > len(c.slots) {
		c.slots = make([]uint32, size)
	} else {
		clear(c.slots)
	}
	c.seen = c.seen[:0]
}

// add notes an event of the key, which is row of keys[part].
func (c *coalescer) add(keys []schema.Keys, hash uint32, part, row int32, op schema.Op) {
	mask := uint32(len(c.slots) - 1)
	key := keys[part].Bytes(int(row))
	// The low bits of the hash choose the key group; others choose the slot.
	for slot := hash * 0x9e3779b1 >> 7 & mask; ; slot = (slot + 1) & mask {
		at := c.slots[slot]
		if at == 0 {
			c.seen = append(c.seen, coalesced{hash, part, row, op, op == schema.OpRead})
			c.slots[slot] = uint32(len(c.seen))
			return
		}
		e := &c.seen[at-1]
		if e.hash == hash && bytes.Equal(keys[e.part].Bytes(int(e.row)), key) {
			e.part, e.row, e.op = part, row, op
			return
		}
	}
}

// encodeKeys encodes the keys of all rows of the parts.
func (t *tableWriter) encodeKeys(parts []part) ([]schema.Keys, error) {
	keys := t.w.keys
	for len(keys) < len(parts) {
		keys = append(keys, schema.Keys{})
	}
	t.w.keys = keys
	for i, p := range parts {
		k, err := t.layout.encoder.Encode(p.batch.Record, keys[i])
		if err != nil {
			return nil, t.nullKey(p.batch, err)
		}
		keys[i] = k
	}
	return keys[:len(parts)], nil
}

// keyGroup returns the key group of a hash. A row of another subtask's keys would
// corrupt the index, so it is an error.
func (t *tableWriter) keyGroup(hash uint32) (uint16, error) {
	g := keygroup.Of(hash, t.w.maxParallelism)
	if !t.w.groups.Contains(g) {
		return 0, fmt.Errorf("iceberg: table %s: a row of key group %d came to the writer of %s", t.target, g, t.w.groups)
	}
	return uint16(g), nil
}

// writeUpsert writes the last event of each key of the parts and notes where it went.
func (t *tableWriter) writeUpsert(parts []part, rows int, reads bool) error {
	if reads && t.fresh {
		return each(parts, rows, t.writeReads)
	}
	keys, err := t.encodeKeys(parts)
	if err != nil {
		return err
	}
	c := &t.w.coalescer
	c.reset(rows)
	for i, p := range parts {
		for j := range p.len() {
			row := p.at(j)
			if op := p.batch.Op(int(row)); op != schema.OpFill {
				c.add(keys, keys[i].Hash(int(row)), int32(i), row, op)
			}
		}
	}
	out := t.w.rows[:0]
	for _, e := range c.seen {
		if e.op != schema.OpDelete {
			out = append(out, outRow{part: e.part, row: e.row, op: e.op})
		}
	}
	t.w.rows = out
	seq, at, err := t.write(parts, out)
	if err != nil {
		return err
	}
	for _, e := range c.seen {
		group, err := t.keyGroup(e.hash)
		if err != nil {
			return err
		}
		var flags uint8
		if e.firstRead && t.fresh {
			flags = keyFresh
		}
		key := keys[e.part].Bytes(int(e.row))
		if e.op == schema.OpDelete {
			t.pending.add(group, key, 0, 0, flags|keyDeleted)
			continue
		}
		t.pending.add(group, key, seq, at, flags)
		at++
	}
	return nil
}

// largePart is how many rows a batch must have to be written by itself: a batch
// of which all rows are written is then not copied, while small ones are put
// together because every array has a cost of its own in the Parquet writer.
const largePart = 4096

// each calls fn for the parts one by one where they are large, else for all at once.
func each(parts []part, rows int, fn func([]part) error) error {
	if rows < largePart*len(parts) {
		return fn(parts)
	}
	for i := range parts {
		if err := fn(parts[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// writeReads writes rows of a snapshot whose keys have no row in the index. That
// holds while fresh is set: the index was empty when the snapshot started, and a
// snapshot gives each key either one read, before all events of the key, or none.
func (t *tableWriter) writeReads(parts []part) error {
	keys, err := t.encodeKeys(parts)
	if err != nil {
		return err
	}
	out := t.w.rows[:0]
	for i, p := range parts {
		for j := range p.len() {
			out = append(out, outRow{part: int32(i), row: p.at(j), op: schema.OpRead})
		}
	}
	t.w.rows = out
	seq, at, err := t.write(parts, out)
	if err != nil {
		return err
	}
	for _, r := range out {
		group, err := t.keyGroup(keys[r.part].Hash(int(r.row)))
		if err != nil {
			return err
		}
		t.pending.add(group, keys[r.part].Bytes(int(r.row)), seq, at, keyFresh)
		at++
	}
	return nil
}

// writeAppend writes all events of the parts as a changelog.
func (t *tableWriter) writeAppend(parts []part) error {
	out := t.w.rows[:0]
	var err error
	for i, p := range parts {
		if out, err = t.changelogRows(out, i, p); err != nil {
			return err
		}
	}
	t.w.rows = out
	seq, at, err := t.write(parts, out)
	if err != nil || !t.indexed {
		return err
	}
	keys, err := t.encodeKeys(parts)
	if err != nil {
		return err
	}
	for i, r := range out {
		group, err := t.keyGroup(keys[r.part].Hash(int(r.row)))
		if err != nil {
			return err
		}
		var flags uint8
		if r.op == schema.OpDelete {
			flags = keyDeleted
		}
		t.pending.add(group, keys[r.part].Bytes(int(r.row)), seq, at+uint32(i), flags)
	}
	return nil
}
