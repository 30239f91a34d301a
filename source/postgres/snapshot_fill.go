package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// fillKeys is the number of rows that are read by key at a time. Such rows have
// values outside the table's blocks, perhaps large ones.
const fillKeys = 64

// fillKey is the key of a row whose event left out cells, and which no chunk has
// brought: it moved behind the planned end of the table, or to where a chunk had
// looked already, or it is gone.
type fillKey struct {
	key   []byte   // as in seen
	texts []string // the key's values, as the server reads them
}

// errKeyTexts is returned for the text of a key that was not made by keyTexts.
var errKeyTexts = errors.New("malformed key of a row to be filled")

// keyTexts returns the values of the key of row i, each with its length before it.
func keyTexts(b *schema.Batch, i int) ([]byte, error) {
	var out []byte
	for _, c := range b.Table.KeyIndexes() {
		text, err := keyText(b.Record.Column(c), b.Table.Columns[c], i)
		if err != nil {
			return nil, err
		}
		out = append(binary.AppendUvarint(out, uint64(len(text))), text...)
	}
	return out, nil
}

// splitKeyTexts undoes keyTexts.
func splitKeyTexts(b []byte) ([]string, error) {
	var out []string
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return nil, errKeyTexts
		}
		out = append(out, string(b[size:size+int(n)]))
		b = b[size+int(n):]
	}
	return out, nil
}

// beginFill opens the transaction of a read by key and answers its HIGH.
const beginFill = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off; SELECT pg_current_wal_insert_lsn()::text"

// fillStatement returns the COPY of rows by key; only says that the table holds
// its rows itself, so that those of tables that inherit from it are left out.
func fillStatement(t *schema.Table, only bool, keys []fillKey) string {
	var b strings.Builder
	b.WriteString("COPY (SELECT ")
	writeColumns(&b, t)
	b.WriteString(" FROM ")
	if only {
		b.WriteString("ONLY ")
	}
	b.WriteString(quoteTable(t.ID) + " WHERE (")
	for i, k := range t.PrimaryKey {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quoteIdent(k))
	}
	b.WriteString(") IN (")
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for j, text := range k.texts {
			if j > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteLiteral(text))
		}
		b.WriteByte(')')
	}
	b.WriteString(")) TO STDOUT (FORMAT binary)")
	return b.String()
}

// fill reads by key what the chunks, which have all been read, did not bring. It
// reports whether nothing is left to be read. From the entry of the last chunk on
// the sink has every row, or a fill of it is due; so later events need none.
func (r *reader) fill(t *tableState) (done bool, err error) {
	if !t.filling {
		if t.win.Open() > 0 {
			return t.win.Partial() == 0 && !t.def.OmitsUnchanged, nil
		}
		t.filling = true
	}
	if t.win.Partial() == 0 {
		return true, nil
	}
	if t.win.Open() > 0 || !r.core.CanOpen() || len(r.pool.jobs) == cap(r.pool.jobs) {
		return false, nil
	}
	job := chunkJob{Table: t.def, Incarnation: t.incarnation}
	if leaf := t.plan.leaf(uint32(t.def.SourceID)); leaf != nil {
		job.Leaf = *leaf
	}
	walk := t.win.Partials(func(key, partial []byte) bool {
		k := fillKey{key: append([]byte(nil), key...)}
		if k.texts, err = splitKeyTexts(partial); err != nil {
			return false
		}
		job.Fill = append(job.Fill, k)
		return len(job.Fill) < fillKeys
	})
	if err = errors.Join(err, walk); err != nil {
		return false, fmt.Errorf("table %s: %w", t.def.ID, err)
	}
	job.Chunk = r.core.Open(t.win)
	t.reading++
	r.pool.dispatch(job)
	return false, nil
}

// filled notes that the rows of keys were read and have entered.
func (r *reader) filled(t *tableState, keys []fillKey) error {
	for _, k := range keys {
		if err := t.win.Filled(k.key); err != nil {
			return wrapTable(t, err)
		}
	}
	return nil
}
