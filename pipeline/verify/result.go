package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// Result is the outcome for one table.
type Result struct {
	Table, Target schema.TableID
	// SourceRows and SinkRows are the rows of the first reading, SourceSum and
	// SinkSum their checksums, which do not depend on the order of rows. On a busy table they
	// may differ although nothing is wrong: see Equal.
	SourceRows, SinkRows int64
	SourceSum, SinkSum   uint64
	// SourcePosition and SinkPosition are the positions of the last reading.
	SourcePosition, SinkPosition uint64
	// Rounds counts how often keys were compared again.
	Rounds int
	// Differing counts the keys that differ, Undecided those that changed as often
	// as they were looked at. AtLeast says that there were more than 100,000 candidates: the
	// rest was not looked at.
	Differing, Undecided int64
	AtLeast              bool
	// Behind says that the sink had not committed the position at which the
	// source was read, and did not move: is the pipeline running?
	Behind bool
	// Differences shows the first differing keys.
	Differences []Difference
}

// Difference is one key that differs.
type Difference struct {
	// Key shows the key as column=value; the whole row for a table without a key.
	Key string
	// SourceRows and SinkRows are how often the key is there.
	SourceRows, SinkRows int
	// Columns are the columns that differ, when each side has the key once.
	Columns []ColumnDifference
}

// ColumnDifference is one column of a row that differs, as text; NULL for NULL.
type ColumnDifference struct{ Column, Source, Sink string }

// Equal says that nothing differs.
func (r *Result) Equal() bool { return r.Differing == 0 && r.Undecided == 0 }

// String prints a line for the table and one for each difference shown.
func (r *Result) String() string {
	var out strings.Builder
	name := r.Table.String()
	if r.Target != r.Table {
		name += " -> " + r.Target.String()
	}
	switch {
	case r.Equal() && r.Rounds == 0:
		fmt.Fprintf(&out, "%s: equal, %d rows, checksum %016x\n", name, r.SourceRows, r.SourceSum)
	case r.Equal():
		fmt.Fprintf(&out, "%s: equal, %d rows, those that changed meanwhile compared again %d times\n", name, r.SourceRows, r.Rounds)
	default:
		if r.AtLeast {
			name += ": DIFFERENT, at least"
		} else {
			name += ": DIFFERENT,"
		}
		fmt.Fprintf(&out, "%s %d keys, %d undecided; rows %d in the source, %d in the sink\n", name, r.Differing, r.Undecided, r.SourceRows, r.SinkRows)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&out, "  %s\n", d)
	}
	if more := r.Differing - int64(len(r.Differences)); more > 0 && len(r.Differences) > 0 {
		fmt.Fprintf(&out, "  and %d more\n", more)
	}
	if r.Undecided > 0 {
		fmt.Fprintf(&out, "  %d keys changed each time they were compared; verify again when there is less traffic\n", r.Undecided)
	}
	if r.Behind {
		out.WriteString("  the sink is behind the source and does not move; is the pipeline running?\n")
	}
	return out.String()
}

// String prints the difference on one line.
func (d Difference) String() string {
	switch {
	case d.SourceRows > 0 && d.SinkRows == 0:
		return d.Key + ": missing in the sink"
	case d.SourceRows == 0 && d.SinkRows > 0:
		return d.Key + ": only in the sink"
	case d.SourceRows != d.SinkRows:
		return fmt.Sprintf("%s: %d times in the source, %d times in the sink", d.Key, d.SourceRows, d.SinkRows)
	case len(d.Columns) == 0:
		return d.Key + ": equal when it was read once more"
	}
	parts := make([]string, len(d.Columns))
	for i, c := range d.Columns {
		parts[i] = fmt.Sprintf("%s is %s in the source, %s in the sink", c.Column, shorten(c.Source), shorten(c.Sink))
	}
	return d.Key + ": " + strings.Join(parts, "; ")
}

// shown are the texts of one key's rows.
type shown struct {
	key      string
	src, snk int
	a, b     []string // the cells of a row of the source and of the sink
}

// show reads both sides once more for the first keys that are wrong.
func (c *comparison) show(ctx context.Context, wrong map[uint64]bool) error {
	keys := make([]uint64, 0, len(wrong))
	for key := range wrong {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if len(keys) == 0 {
		return nil
	}
	keys = keys[:min(len(keys), c.Show)]
	rows := map[uint64]*shown{}
	for _, key := range keys {
		rows[key] = &shown{}
	}
	collect := func(count func(*shown) *int, cells func(*shown) *[]string) func(*schema.Batch, int, uint64, uint64) {
		return func(b *schema.Batch, row int, key, _ uint64) {
			if s := rows[key]; s != nil {
				*count(s)++
				*cells(s) = c.cells(b, row)
				s.key = c.keyText(*cells(s))
			}
		}
	}
	if _, err := c.read(ctx, "source", c.Source, collect(func(s *shown) *int { return &s.src }, func(s *shown) *[]string { return &s.a })); err != nil {
		return err
	}
	if _, err := c.read(ctx, "sink", c.Sink, collect(func(s *shown) *int { return &s.snk }, func(s *shown) *[]string { return &s.b })); err != nil {
		return err
	}
	for _, key := range keys {
		if s := rows[key]; s.src+s.snk > 0 {
			c.result.Differences = append(c.result.Differences, c.difference(s))
		}
	}
	slices.SortFunc(c.result.Differences, func(a, b Difference) int { // numbers by value, mostly
		return cmp.Or(cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	return nil
}

func (c *comparison) difference(s *shown) Difference {
	d := Difference{Key: s.key, SourceRows: s.src, SinkRows: s.snk}
	if s.src == 1 && s.snk == 1 {
		for i, col := range c.Definition.Columns {
			if s.a[i] != s.b[i] {
				d.Columns = append(d.Columns, ColumnDifference{Column: col.Name, Source: s.a[i], Sink: s.b[i]})
			}
		}
	}
	return d
}

// maxText bounds a value that is shown.
const maxText = 80

func (c *comparison) cells(b *schema.Batch, row int) []string {
	out := make([]string, len(c.Definition.Columns))
	for i := range out {
		col := b.Record.Column(i)
		out[i] = "NULL"
		if !col.IsNull(row) {
			out[i] = col.ValueStr(row)
		}
	}
	return out
}

func (c *comparison) keyText(cells []string) string {
	indexes := c.Definition.KeyIndexes()
	if len(indexes) == 0 {
		for i := range c.Definition.Columns {
			indexes = append(indexes, i)
		}
	}
	parts := make([]string, len(indexes))
	for i, index := range indexes {
		parts[i] = c.Definition.Columns[index].Name + "=" + shorten(cells[index])
	}
	return strings.Join(parts, ", ")
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "..."
	}
	return text
}
