package mysql

import (
	"errors"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
)

// fillKeys is the number of rows that are read by key at a time.
const fillKeys = 64

// fillKey is the key of a row whose event left out cells (binlog_row_image MINIMAL
// or NOBLOB), and which no chunk has brought: it moved to where a chunk had looked
// already, or it is gone.
type fillKey struct {
	key       []byte // as in seen
	condition string // finds the row
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
	if t.win.Open() > 0 || !r.core.CanOpen() || !r.pool.free() {
		return false, nil
	}
	job := chunkJob{Incarnation: t.incarnation, Job: t.plan.Job(t.def, snapshot.Range{})}
	walk := t.win.Partials(func(key, partial []byte) bool {
		job.Fill = append(job.Fill, fillKey{key: append([]byte(nil), key...), condition: string(partial)})
		job.Only = append(job.Only, string(partial))
		return len(job.Fill) < fillKeys
	})
	if err = errors.Join(err, walk); err != nil {
		return false, fmt.Errorf("table %s: %w", t.def.ID, err)
	}
	job.ID = r.core.Open(t.win)
	t.reading++
	r.pool.dispatch(job)
	return false, nil
}

// filled notes that the rows of keys were read and have entered, but for those that
// the chunk had no room for.
func (r *reader) filled(t *tableState, c *chunkRows) error {
	for _, k := range c.Fill {
		if slices.Contains(c.Left, k.condition) {
			continue
		}
		if err := t.win.Filled(k.key); err != nil {
			return wrapTable(t, err)
		}
	}
	return nil
}

// keyCondition returns the condition that finds row i of a batch by its key.
func keyCondition(b *schema.Batch, i int) ([]byte, error) {
	condition, err := snapshot.RowCondition(b.Table, b.Record, i)
	return []byte(condition), err
}
