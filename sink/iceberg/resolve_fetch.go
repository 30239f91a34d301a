package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// wantedRow is a row of a data file of which some cells are needed. Cells refer to
// it as unit fetchedUnit until it has been read.
type wantedRow struct {
	at      location
	index   int32
	columns []int32
}

// fetchedUnit stands for the rows that were fetched: row is wantedRow.index.
const fetchedUnit = int32(-1)

// want asks for a cell of the row at l.
func (r *resolving) want(l location, column int32) cellSource {
	w, ok := r.wanted[l]
	if !ok {
		w = &wantedRow{at: l, index: int32(len(r.wanted))}
		r.wanted[l] = w
	}
	if !slices.Contains(w.columns, column) {
		w.columns = append(w.columns, column)
	}
	return cellSource{fetchedUnit, w.index}
}

// fetch reads the wanted rows, file by file, and points the cells at them.
func (r *resolving) fetch(ctx context.Context) error {
	if len(r.wanted) == 0 {
		return nil
	}
	rows := make([]*wantedRow, 0, len(r.wanted))
	for _, w := range r.wanted {
		rows = append(rows, w)
	}
	slices.SortFunc(rows, func(a, b *wantedRow) int {
		return cmp.Or(cmp.Compare(a.at.file.epoch, b.at.file.epoch), cmp.Compare(a.at.file.seq, b.at.file.seq), cmp.Compare(a.at.position, b.at.position))
	})
	found := make([]cellSource, len(rows))
	for i := 0; i < len(rows); {
		j := i + 1
		for j < len(rows) && rows[j].at.file == rows[i].at.file {
			j++
		}
		if err := r.fetchFile(ctx, rows[i:j], found); err != nil {
			return err
		}
		i = j
	}
	for n := range r.owner {
		for c, s := range n.cells {
			if s.unit == fetchedUnit {
				n.cells[c] = found[s.row]
			}
		}
	}
	return nil
}

// fetchFile finds rows of one file. What is not written out yet is in memory; a
// file that is still open is closed first.
func (r *resolving) fetchFile(ctx context.Context, rows []*wantedRow, found []cellSource) error {
	t := r.t
	ref := rows[0].at.file
	if t.file != nil && t.ref(t.fileSeq) == ref {
		kept := rows[:0:0]
		for _, w := range rows {
			if rec, row, ok := t.file.buffered(int64(w.at.position)); ok {
				found[w.index] = cellSource{r.unit(rec), int32(row)}
				continue
			}
			kept = append(kept, w)
		}
		if rows = kept; len(rows) == 0 {
			return nil
		}
		if err := t.closeFile(); err != nil {
			return err
		}
	}
	path, err := t.w.registry.path(t.target, ref)
	if err != nil {
		return err
	}
	positions := make([]int64, len(rows))
	var columns []int32
	for i, w := range rows {
		positions[i] = int64(w.at.position)
		found[w.index] = cellSource{int32(len(r.units)), int32(i)}
		columns = append(columns, w.columns...)
	}
	slices.Sort(columns)
	rec, err := t.readRows(ctx, path, positions, slices.Compact(columns))
	if err != nil {
		return fmt.Errorf("iceberg: table %s: reading old rows of %s: %w", t.target, path, err)
	}
	r.units = append(r.units, rec)
	return nil
}

// unit enters rec among the units, once.
func (r *resolving) unit(rec arrow.RecordBatch) int32 {
	if i := slices.Index(r.units, rec); i >= 0 {
		return int32(i)
	}
	rec.Retain()
	r.units = append(r.units, rec)
	return int32(len(r.units) - 1)
}

// record makes a record of nodes: each cell from where it is; what is missing is
// NULL. The caller releases it.
func (r *resolving) record(nodes []*node) (arrow.RecordBatch, error) {
	l := r.t.layout
	columns := make([]arrow.Array, 0, len(l.source))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for c := range l.source {
		var parts []arrow.ArrayData
		index := map[int32]int32{}
		picks := make([]pick, len(nodes))
		for i, n := range nodes {
			s, ok := n.cell(int32(c))
			if !ok {
				picks[i] = pick{0, -1}
				continue
			}
			p, ok := index[s.unit]
			if !ok {
				p = int32(len(parts))
				index[s.unit] = p
				parts = append(parts, r.units[s.unit].Column(c).Data())
			}
			picks[i] = pick{p, s.row}
		}
		data, err := gather(r.t.w.mem, l.arrow.Field(c).Type, parts, picks)
		if err != nil {
			return nil, &RowError{Table: r.t.target, Column: l.arrow.Field(c).Name, Err: err}
		}
		columns = append(columns, array.MakeFromData(data))
		data.Release()
	}
	return array.NewRecordBatch(l.arrow, columns, int64(len(nodes))), nil
}

// readRows returns the rows at the positions, ascending, of a data file, in the
// layout of the table: the wanted columns, found by field id and widened where the
// type has grown since; columns that the file does not have, or that are not
// wanted, are NULL.
func (t *tableWriter) readRows(ctx context.Context, path string, positions []int64, columns []int32) (rec arrow.RecordBatch, err error) {
	in, err := t.w.cfg.FS.Open(path)
	if err != nil {
		return nil, err
	}
	pr, err := file.NewParquetReader(in)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer func() { err = errors.Join(err, pr.Close()) }()
	fr, err := pqarrow.NewFileReader(pr, pqarrow.ArrowReadProperties{}, t.w.mem)
	if err != nil {
		return nil, err
	}
	out := make([]arrow.Array, 0, t.layout.arrow.NumFields())
	defer func() {
		for _, a := range out {
			a.Release()
		}
	}()
	groups, picks, err := rowGroupsOf(pr, positions)
	if err != nil {
		return nil, err
	}
	for c, f := range t.layout.arrow.Fields() {
		var data arrow.ArrayData
		if slices.Contains(columns, int32(c)) {
			data, err = t.readColumn(ctx, fr, f, groups, picks)
		} else {
			data, err = nulls(t.w.mem, f.Type, len(positions))
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		out = append(out, array.MakeFromData(data))
		data.Release()
	}
	return array.NewRecordBatch(t.layout.arrow, out, int64(len(positions))), nil
}

// rowGroupsOf returns the row groups that hold the positions, and each position's
// place within them.
func rowGroupsOf(pr *file.Reader, positions []int64) (groups []int, picks []pick, err error) {
	first, at := int64(0), 0
	for g := range pr.NumRowGroups() {
		n := pr.MetaData().RowGroup(g).NumRows()
		hit := false
		for ; at < len(positions) && positions[at] < first+n; at++ {
			if !hit {
				groups, hit = append(groups, g), true
			}
			picks = append(picks, pick{int32(len(groups) - 1), int32(positions[at] - first)})
		}
		first += n
	}
	if at < len(positions) {
		return nil, nil, fmt.Errorf("row %d is beyond the file's %d rows", positions[at], first)
	}
	return groups, picks, nil
}

// readColumn reads a column of the row groups, one group at a time, and keeps the picked rows.
func (t *tableWriter) readColumn(ctx context.Context, fr *pqarrow.FileReader, f arrow.Field, groups []int, picks []pick) (arrow.ArrayData, error) {
	field := slices.IndexFunc(fr.Manifest.Fields, func(s pqarrow.SchemaField) bool { return fieldID(*s.Field) == fieldID(f) })
	if field < 0 {
		return nulls(t.w.mem, f.Type, len(picks))
	}
	leaves := leavesOf(&fr.Manifest.Fields[field], nil)
	var kept []arrow.ArrayData
	defer func() {
		for _, d := range kept {
			d.Release()
		}
	}()
	all := make([]pick, 0, len(picks))
	for i, g := range groups {
		tbl, err := fr.ReadRowGroups(ctx, leaves, []int{g})
		if err != nil {
			return nil, err
		}
		rows := []pick{}
		for _, p := range picks {
			if p.part == int32(i) {
				rows = append(rows, p)
				all = append(all, pick{int32(i), int32(len(rows) - 1)})
			}
		}
		data, err := pickChunked(t.w.mem, tbl.Column(0).Data(), rows)
		tbl.Release()
		if err != nil {
			return nil, err
		}
		kept = append(kept, data)
	}
	data, err := gather(t.w.mem, kept[0].DataType(), kept, all)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	// What lies in a file has been through the infinity mode before.
	c := converter{mem: t.w.mem}
	return c.convert(data, f.Type)
}

// pickChunked returns the rows of a chunked array; picks count from its start.
func pickChunked(mem memory.Allocator, col *arrow.Chunked, rows []pick) (arrow.ArrayData, error) {
	parts := make([]arrow.ArrayData, len(col.Chunks()))
	for i, c := range col.Chunks() {
		parts[i] = c.Data()
	}
	picks := make([]pick, len(rows))
	for i, r := range rows {
		row, part := int(r.row), 0
		for row >= parts[part].Len() {
			row -= parts[part].Len()
			part++
		}
		picks[i] = pick{int32(part), int32(row)}
	}
	return gather(mem, col.DataType(), parts, picks)
}

// nulls returns n NULLs.
func nulls(mem memory.Allocator, dt arrow.DataType, n int) (arrow.ArrayData, error) {
	picks := make([]pick, n)
	for i := range picks {
		picks[i].row = -1
	}
	return gather(mem, dt, nil, picks)
}

// fieldID is the Iceberg field id that a field carries, -1 for none.
func fieldID(f arrow.Field) int {
	v, ok := f.Metadata.GetValue("PARQUET:field_id")
	if !ok {
		return -1
	}
	id, err := strconv.Atoi(v)
	if err != nil {
		return -1
	}
	return id
}

// leavesOf appends the leaf columns below a field.
func leavesOf(f *pqarrow.SchemaField, leaves []int) []int {
	if f.IsLeaf() {
		return append(leaves, f.ColIndex)
	}
	for i := range f.Children {
		leaves = leavesOf(&f.Children[i], leaves)
	}
	return leaves
}
