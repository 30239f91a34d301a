package iceberg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"

	"github.com/freshet-cdc/freshet/schema"
)

// Rows streams the table's current snapshot as the source would show it: an upsert
// table as it is, a changelog folded to the rows that are alive. The read goes
// through iceberg-go's scanner, so deletes are applied by code that did not write
// them. position is one up to which all changes of the table are in it. A table that
// does not exist is [catalog.ErrNoSuchTable].
func (s *Sink) Rows(ctx context.Context, t *schema.Table, target schema.TableID, fn func(*schema.Batch) error) (position uint64, err error) {
	cat, err := s.catalog(ctx)
	if err != nil {
		return 0, err
	}
	// The position is read first: what is committed meanwhile only adds to it.
	position, err = s.committedPosition(ctx, cat, target)
	if err != nil {
		return 0, err
	}
	tbl, err := cat.LoadTable(ctx, identifier(target))
	if err != nil {
		return 0, fmt.Errorf("iceberg: table %s: %w", target, err)
	}
	emit := func(rec arrow.RecordBatch) error {
		batch, err := sourceBatch(t, rec)
		if err != nil {
			return err
		}
		defer batch.Release()
		return fn(batch)
	}
	r := &reader{tbl: tbl, table: t}
	if _, changelog := tbl.Schema().FindFieldByName(columnOp); !changelog {
		err = r.scan(ctx, nil, emit)
	} else {
		err = r.fold(ctx, emit)
	}
	if err != nil {
		return 0, fmt.Errorf("iceberg: reading table %s: %w", target, err)
	}
	return position, nil
}

// committedPosition returns the newest log position that is certain to be in the table. A
// table without changes in the last checkpoints has an old marker of its own; but checkpoints
// are committed one after the other, so what another table of the pipeline shows
// of a checkpoint before the newest one holds for all.
func (s *Sink) committedPosition(ctx context.Context, st store, target schema.TableID) (uint64, error) {
	t, err := st.LoadTable(ctx, identifier(target))
	if err != nil {
		return 0, fmt.Errorf("iceberg: table %s: %w", target, err)
	}
	own, ok, err := tableMarker(t.Metadata())
	if err != nil || !ok {
		return 0, err
	}
	all, err := s.positions(ctx, st)
	if err != nil {
		return 0, err
	}
	return max(own.Position, all[own.Lineage]), nil
}

// positionsAge is how long what all tables say together is good: it only gets older,
// and a catalog may have thousands of tables.
const positionsAge = time.Second

// positions returns for each lineage the newest log position that all its tables have.
func (s *Sink) positions(ctx context.Context, st store) (map[string]uint64, error) {
	s.positionsMu.Lock()
	defer s.positionsMu.Unlock()
	if s.known != nil && time.Since(s.knownAt) < positionsAge {
		return s.known, nil
	}
	idents, err := listTables(ctx, st)
	if err != nil {
		return nil, err
	}
	seen := map[string][]marker{}
	for _, ident := range idents {
		t, err := st.LoadTable(ctx, ident)
		if err != nil {
			continue // not one of ours, or gone: the position only stays older
		}
		if m, ok, err := tableMarker(t.Metadata()); err == nil && ok {
			seen[m.Lineage] = append(seen[m.Lineage], m)
		}
		for _, snapshot := range ancestors(t.Metadata()) {
			if m, ok := snapshotMarker(&snapshot); ok {
				seen[m.Lineage] = append(seen[m.Lineage], m)
			}
		}
	}
	s.known, s.knownAt = map[string]uint64{}, time.Now()
	for lineage, markers := range seen {
		newest := slices.MaxFunc(markers, func(a, b marker) int { return cmp.Compare(a.Checkpoint, b.Checkpoint) }).Checkpoint
		for _, m := range markers {
			if m.Checkpoint < newest {
				s.known[lineage] = max(s.known[lineage], m.Position)
			}
		}
	}
	return s.known, nil
}

// reader reads one table as of one snapshot.
type reader struct {
	tbl   *table.Table
	table *schema.Table
}

// scan hands every record of the snapshot to fn; columns nil means the source's.
func (r *reader) scan(ctx context.Context, columns []string, fn func(arrow.RecordBatch) error) error {
	if columns == nil {
		for _, c := range r.table.Columns {
			columns = append(columns, c.Name)
		}
	}
	for _, c := range columns {
		if _, ok := r.tbl.Schema().FindFieldByName(c); !ok {
			return fmt.Errorf("it has no column %s", c)
		}
	}
	if r.tbl.CurrentSnapshot() == nil {
		return nil
	}
	scan := r.tbl.Scan(table.WithSelectedFields(columns...))
	_, records, err := scan.ToArrowRecords(ctx)
	if err != nil {
		return err
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		err = fn(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// sourceBatch turns a record of the table, whose columns may come in any order and
// with others between, into a batch of the source's types.
func sourceBatch(t *schema.Table, rec arrow.RecordBatch) (*schema.Batch, error) {
	columns := make([]arrow.Array, 0, len(t.Columns))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, c := range t.Columns {
		at := rec.Schema().FieldIndices(c.Name)
		if len(at) != 1 {
			return nil, fmt.Errorf("column %s occurs %d times", c.Name, len(at))
		}
		col, err := toSource(rec.Column(at[0]), c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		columns = append(columns, col)
	}
	return schema.NewBatch(t, array.NewRecordBatch(t.ArrowSchema(), columns, rec.NumRows())), nil
}
