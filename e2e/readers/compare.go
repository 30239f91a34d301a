package readers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"strings"
)

// Diff is what a comparison found. Missing rows are in the source alone, Extra
// ones in the target alone (a row that is there twice is extra once), Different
// ones have the same key and other values.
type Diff struct {
	Table                     string
	Rows                      int // of the source
	Missing, Extra, Different int
	// Examples describe the first few differences.
	Examples []string
}

// Equal reports whether the tables are the same.
func (d Diff) Equal() bool { return d.Missing == 0 && d.Extra == 0 && d.Different == 0 }

// String says it in one line, with examples.
func (d Diff) String() string {
	if d.Equal() {
		return fmt.Sprintf("%s: %d rows equal", d.Table, d.Rows)
	}
	return fmt.Sprintf("%s: %d rows, %d missing, %d extra, %d different: %s",
		d.Table, d.Rows, d.Missing, d.Extra, d.Different, strings.Join(d.Examples, "; "))
}

func (d *Diff) example(format string, args ...any) {
	if len(d.Examples) < 5 {
		s := fmt.Sprintf(format, args...)
		d.Examples = append(d.Examples, s[:min(len(s), 300)])
	}
}

// stored is a row of the target as a comparison keeps it.
type stored struct {
	sum   [16]byte
	marks []uint32 // of each column, to name those that differ
	count int
	seen  bool
}

// comparison holds the target's rows by key (by content where there is no key).
type comparison struct {
	diff    Diff
	columns []column
	keyed   bool
	rows    map[string]*stored
}

func newComparison(table string, columns []column) *comparison {
	c := &comparison{diff: Diff{Table: table}, columns: columns, rows: map[string]*stored{}}
	for _, col := range columns {
		c.keyed = c.keyed || col.key > 0
	}
	return c
}

// Compare reads the source table and the Iceberg table through the
// engine, and compares them row by row. An Iceberg table in append mode is
// compared by [Reader.CompareChangelog].
func (r *Reader) Compare(ctx context.Context, db Source, source, target string, engine Engine) (Diff, error) {
	columns, err := db.columns(ctx, source)
	if err != nil {
		return Diff{}, err
	}
	c := newComparison(source, columns)
	var index []int
	err = r.Rows(Ref{Table: target}, engine, func(names []string, row []Text) error {
		if index == nil {
			if index, err = positions(columns, names); err != nil {
				return err
			}
		}
		c.target(pick(row, index))
		return nil
	})
	if err != nil {
		return Diff{}, err
	}
	return c.finish(ctx, db, source)
}

// finish reads the source and compares.
func (c *comparison) finish(ctx context.Context, db Source, source string) (Diff, error) {
	if err := db.rows(ctx, source, c.columns, c.source); err != nil {
		return Diff{}, err
	}
	for key, s := range c.rows {
		if c.keyed && !s.seen {
			c.diff.Extra += s.count
			c.diff.example("extra %q", strings.ReplaceAll(key, "\x00", ","))
		} else if !c.keyed && s.count > 0 {
			c.diff.Extra += s.count
			c.diff.example("%d extra of a row", s.count)
		}
	}
	return c.diff, nil
}

// target takes a row of the Iceberg table, its columns in the source's order.
func (c *comparison) target(row []Text) {
	key, sum := c.identify(row)
	s := c.rows[key]
	if s == nil {
		c.rows[key] = &stored{sum: sum, marks: c.marks(row), count: 1}
		return
	}
	s.count++
	if c.keyed {
		c.diff.Extra++
		s.count = 1
		c.diff.example("key %q twice", strings.ReplaceAll(key, "\x00", ","))
	}
}

// source takes a row of the database.
func (c *comparison) source(row []Text) error {
	c.diff.Rows++
	key, sum := c.identify(row)
	s := c.rows[key]
	switch {
	case s == nil || !c.keyed && s.count == 0:
		c.diff.Missing++
		c.diff.example("missing %s", show(c.columns, row))
	case !c.keyed:
		s.count--
	default:
		s.seen = true
		if s.sum != sum {
			c.diff.Different++
			c.diff.example("%s differ, source has %s", c.differing(s.marks, row), show(c.columns, row))
		}
	}
	return nil
}

// marks returns a mark of each value of a row with a key.
func (c *comparison) marks(row []Text) []uint32 {
	if !c.keyed {
		return nil
	}
	marks := make([]uint32, len(row))
	for i, col := range c.columns {
		if v := col.normal(row[i]); v != nil {
			marks[i] = crc32.ChecksumIEEE([]byte(*v)) | 1
		}
	}
	return marks
}

// differing names the columns in which a row of the source differs.
func (c *comparison) differing(marks []uint32, row []Text) string {
	var names []string
	for i, mark := range c.marks(row) {
		if mark != marks[i] {
			names = append(names, c.columns[i].name)
		}
	}
	return strings.Join(names, ", ")
}

// identify returns the key of a row, or without a key the row's own digest, and its digest.
func (c *comparison) identify(row []Text) (string, [16]byte) {
	var sum [16]byte
	h := sha256.New()
	var key strings.Builder
	for i, col := range c.columns {
		v := col.normal(row[i])
		if v == nil {
			h.Write([]byte{0})
		} else {
			fmt.Fprintf(h, "%d:", len(*v))
			h.Write([]byte(*v))
		}
		if col.key > 0 && v != nil {
			key.WriteString(*v)
			key.WriteByte(0)
		}
	}
	copy(sum[:], h.Sum(nil))
	if !c.keyed {
		return string(sum[:]), sum
	}
	return key.String(), sum
}

// positions finds the source's columns among the target's.
func positions(columns []column, names []string) ([]int, error) {
	index := make([]int, len(columns))
	for i, c := range columns {
		index[i] = -1
		for j, n := range names {
			if n == c.name {
				index[i] = j
			}
		}
		if index[i] < 0 {
			return nil, fmt.Errorf("readers: the target has no column %s, only %s", c.name, strings.Join(names, ", "))
		}
	}
	return index, nil
}

func pick(row []Text, index []int) []Text {
	out := make([]Text, len(index))
	for i, j := range index {
		out[i] = row[j]
	}
	return out
}

func show(columns []column, row []Text) string {
	var parts []string
	for i, c := range columns {
		v := "NULL"
		if row[i] != nil {
			v = *row[i]
			v = v[:min(len(v), 40)]
		}
		parts = append(parts, c.name+"="+v)
	}
	return strings.Join(parts, " ")
}
