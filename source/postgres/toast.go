package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/window"
)

// unresolved is a cell that the log left out because its value did not change,
// and that no sink can find: the row has a new key, or the sink keeps no rows.
type unresolved struct {
	at   int // index of the batch in its group
	rel  *relation
	cell schema.Cell
	lsn  uint64
}

// cellReader reads such cells from the tables, by the row's key. What it reads is
// the present value, perhaps newer than the row: the log brings what happened
// since, so no checkpoint may lie in between (logGroup.Hold).
type cellReader struct {
	cfg    *config
	logger *slog.Logger
	mem    memory.Allocator
	conn   *pgx.Conn
}

func (r *cellReader) close() {
	if r.conn != nil {
		_ = r.conn.Close(context.Background())
		r.conn = nil
	}
}

// resolve fills the unresolved cells of a group.
func (r *cellReader) resolve(ctx context.Context, d *decoded) error {
	if len(d.unresolved) == 0 {
		return nil
	}
	for at := range d.group.Rows {
		var cells []unresolved
		for _, u := range d.unresolved {
			if u.at == at {
				cells = append(cells, u)
			}
		}
		if len(cells) == 0 {
			continue
		}
		if err := r.cover(ctx, d.group.Rows[at].Batch, cells); err != nil {
			return err
		}
		if err := r.fill(ctx, &d.group.Rows[at], cells); err != nil {
			return err
		}
	}
	if r.conn == nil {
		return nil
	}
	var text string
	if err := r.conn.QueryRow(ctx, `SELECT pg_current_wal_insert_lsn()::text`).Scan(&text); err != nil {
		return fmt.Errorf("read the server's position: %w", err)
	}
	hold, err := pglogrepl.ParseLSN(text)
	if err != nil {
		return fmt.Errorf("read the server's position: %w", err)
	}
	d.group.Hold = uint64(hold)
	return nil
}

// coverInterval is how long cover waits before it looks again.
const coverInterval = 5 * time.Millisecond

// cover waits until a new SELECT sees the transactions whose rows have the cells.
// A commit is in the log before it is visible, for long behind a synchronous
// standby: until then the key would find no row, or the one before.
func (r *cellReader) cover(ctx context.Context, b *schema.Batch, cells []unresolved) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	cover := window.Cover{}
	for {
		s, err := visibleNow(ctx, r.conn)
		if err != nil {
			return err
		}
		if cover.Empty() {
			for _, u := range cells {
				cover.XIDs = append(cover.XIDs, window.FullXID(uint32(xidOf(b, int(u.cell.Row))), s.Xmax))
			}
		}
		if cover = cover.Rest(s); cover.Empty() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(coverInterval):
		}
	}
}

// xidOf returns the transaction of row i.
func xidOf(b *schema.Batch, i int) uint64 {
	for _, tx := range b.Txs {
		if i -= tx.Rows; i < 0 {
			return tx.ID
		}
	}
	return 0
}

// connect opens the connection when there is none.
func (r *cellReader) connect(ctx context.Context) (err error) {
	if r.conn == nil || r.conn.IsClosed() {
		r.conn, err = r.cfg.connect(ctx)
	}
	return err
}

// fill replaces the columns of a batch that have unresolved cells.
func (r *cellReader) fill(ctx context.Context, rows *logRows, cells []unresolved) error {
	table := rows.Batch.Table
	values := map[schema.Cell][]byte{}
	byRow := map[int32][]int{}
	for _, u := range cells {
		byRow[u.cell.Row] = append(byRow[u.cell.Row], int(u.cell.Column))
	}
	for row, columns := range byRow {
		found, texts, err := r.readRow(ctx, table, rows.Batch.Record, int(row), columns)
		if err != nil {
			return err
		}
		if !found {
			// Its row is gone again: the log brings the delete, and nothing in the
			// database has the value any more.
			if rel := cells[0].rel; rel.events && rel.sinkResolves { // it says so itself
				leaveOut(rows.Batch, int32(row), columns)
				continue
			}
			r.logger.Warn("an unchanged column value can't be had: its row was deleted since", "table", table.ID.String(),
				"column", table.Columns[columns[0]].Name, "position", formatLSN(cells[0].lsn))
			continue
		}
		for i, c := range columns {
			values[schema.Cell{Row: row, Column: int32(c)}] = texts[i]
		}
	}
	record, err := r.patch(rows.Batch.Record, table, cells, values)
	if err != nil {
		return err
	}
	rows.Batch.Record.Release()
	rows.Batch.Record = record
	return nil
}

// leaveOut notes that columns of a row have no value.
func leaveOut(b *schema.Batch, row int32, columns []int) {
	for _, c := range columns {
		b.Unchanged = append(b.Unchanged, schema.Cell{Row: row, Column: int32(c)})
	}
	slices.SortFunc(b.Unchanged, func(a, b schema.Cell) int {
		return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column))
	})
}

// readRow reads columns of the row with the key of row i, as text.
func (r *cellReader) readRow(ctx context.Context, t *schema.Table, record arrow.RecordBatch, i int, columns []int) (bool, [][]byte, error) {
	if err := r.connect(ctx); err != nil {
		return false, nil, err
	}
	query := keyedSelect(t, columns)
	args := make([][]byte, 0, len(t.PrimaryKey))
	for _, k := range t.KeyIndexes() {
		text, err := keyText(record.Column(k), t.Columns[k], i)
		if err != nil {
			return false, nil, err
		}
		args = append(args, []byte(text))
	}
	// Parameters and results in text: the server parses and prints them itself.
	result := r.conn.PgConn().ExecParams(ctx, query, args, nil, nil, nil).Read()
	if result.Err != nil {
		return false, nil, fmt.Errorf("read unchanged values of table %s: %w", t.ID, result.Err)
	}
	if len(result.Rows) == 0 {
		return false, nil, nil
	}
	return true, result.Rows[0], nil
}

// keyedSelect makes the query for columns of one row, with the key as parameters.
func keyedSelect(t *schema.Table, columns []int) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = quoteIdent(t.Columns[c].Name)
	}
	where := make([]string, len(t.PrimaryKey))
	for i, k := range t.PrimaryKey {
		where[i] = fmt.Sprintf("%s = $%d", quoteIdent(k), i+1)
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + quoteTable(t.ID) + " WHERE " + strings.Join(where, " AND ")
}

// keyText prints a value of a key column so that the server reads the same value.
func keyText(col arrow.Array, c schema.Column, i int) (string, error) {
	switch a := col.(type) {
	case *array.Timestamp, *array.Date32:
		return printTemporal(a, c, i)
	case *array.Binary:
		return fmt.Sprintf(`\x%x`, a.Value(i)), nil
	case *array.FixedSizeBinary:
		return fmt.Sprintf("%x", a.Value(i)), nil
	case *array.Decimal128:
		return a.Value(i).ToString(int32(c.Type.Scale)), nil
	case *array.Decimal256:
		return a.Value(i).ToString(int32(c.Type.Scale)), nil
	case *array.Time64:
		us := int64(a.Value(i))
		return fmt.Sprintf("%02d:%02d:%02d.%06d", us/3_600_000_000, us/60_000_000%60, us/1_000_000%60, us%1_000_000), nil
	case *array.Boolean:
		if c.Source.Name == "bit" {
			return map[bool]string{true: "1", false: "0"}[a.Value(i)], nil
		}
		return fmt.Sprint(a.Value(i)), nil
	case *array.List, *array.Map, *array.Struct:
		return "", fmt.Errorf("%w: column %s as part of a key", ErrValue, c.Name)
	}
	return col.ValueStr(i), nil
}

// patch copies record with the given cells set from their text.
func (r *cellReader) patch(record arrow.RecordBatch, t *schema.Table, cells []unresolved, values map[schema.Cell][]byte) (arrow.RecordBatch, error) {
	columns := slices.Clone(record.Columns())
	var made []arrow.Array
	defer func() {
		for _, a := range made {
			a.Release()
		}
	}()
	patched := map[int32]bool{}
	for _, u := range cells {
		if patched[u.cell.Column] {
			continue
		}
		patched[u.cell.Column] = true
		a, err := r.patchColumn(record, t, u.cell.Column, values)
		if err != nil {
			return nil, err
		}
		made = append(made, a)
		columns[u.cell.Column] = a
	}
	return array.NewRecordBatch(record.Schema(), columns, record.NumRows()), nil
}

// patchColumn makes one column anew: runs of old values with new ones between.
func (r *cellReader) patchColumn(record arrow.RecordBatch, t *schema.Table, column int32, values map[schema.Cell][]byte) (arrow.Array, error) {
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	old := record.Column(int(column))
	c := t.Columns[column]
	from := int64(0)
	for row := int64(0); row < record.NumRows(); row++ {
		text, ok := values[schema.Cell{Row: int32(row), Column: column}]
		if !ok || text == nil {
			continue
		}
		if row > from {
			parts = append(parts, array.NewSlice(old, from, row))
		}
		b := array.NewBuilder(r.mem, c.Type.Arrow())
		if err := textAppender(c, b, r.cfg.text)(text); err != nil {
			b.Release()
			return nil, fmt.Errorf("table %s, column %s: %w", t.ID, c.Name, err)
		}
		parts = append(parts, b.NewArray())
		b.Release()
		from = row + 1
	}
	if from < record.NumRows() || len(parts) == 0 {
		parts = append(parts, array.NewSlice(old, from, record.NumRows()))
	}
	return array.Concatenate(parts, r.mem)
}
