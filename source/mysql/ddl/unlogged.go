package ddl

import (
	"errors"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// MariaDB leaves generated columns out of its log, so that what they are after an
// UPDATE is not known: all of them since 11.4, from the images of every UPDATE and
// DELETE and from some of an INSERT; before it the virtual ones, where
// binlog_row_image is not FULL. Such columns are not captured at all, for a value that
// is right at times only is worse than none. They are never part of the key: MariaDB takes
// none for a primary key, and none as NOT NULL.

// versionUnlogged is the MariaDB from which on no generated column can be relied on.
const versionUnlogged = 110400

// unlogged reports whether the server's log may lack a column although it changed.
func (o Options) unlogged(c Column) bool {
	if !o.MariaDB || c.Generated == "" {
		return false
	}
	return o.Version >= versionUnlogged || c.Generated == "VIRTUAL" && o.OmitsUnchanged
}

// markUnlogged decides which columns of a new definition are not captured. What is
// decided stays, whatever the server becomes: else a table would lose columns at a restart.
func (d *Definition) markUnlogged(o Options) {
	for i := range d.Columns {
		d.Columns[i].Unlogged = o.unlogged(d.Columns[i])
	}
}

// renumberUnlogged gives columns another ordinal that were sent before and are not any
// more: should they be sent again one day, they are other columns to a sink.
func (d *Definition) renumberUnlogged(old *Definition) {
	for i, c := range d.Columns {
		if at := old.ordinal(c.Ordinal); c.Unlogged && at >= 0 && !old.Columns[at].Unlogged {
			d.LastOrdinal++
			d.Columns[i].Ordinal = d.LastOrdinal
		}
	}
}

// checkSent fails where the table as it is sent lacks what it can't do without. No
// server that is known lets it come to that.
func (d *Definition) checkSent(t *schema.Table) error {
	const why = "generated, and the server leaves such columns out of its log"
	if len(t.Columns) == 0 && len(d.Columns) > 0 {
		return errors.New("all of its columns are " + why)
	}
	for _, name := range t.PrimaryKey {
		if d.Columns[d.column(name)].Unlogged {
			return fmt.Errorf("column %s of the key is %s (give it a key of other columns)", name, why)
		}
	}
	return nil
}

// Unlogged returns the names of the columns that are not captured because the
// server's log lacks them, in the order of the table.
func (d *Definition) Unlogged() []string {
	var out []string
	for _, c := range d.Columns {
		if c.Unlogged {
			out = append(out, c.Name)
		}
	}
	return out
}

// markLearned decides of columns that were learned. The log alone does not say that one
// is generated: what was known of the column of that name and type goes on, if
// anything was.
func (d *Definition) markLearned(was *Definition, o Options) {
	d.markUnlogged(o)
	for i := range d.Columns {
		c := &d.Columns[i]
		if !c.Guessed || was == nil {
			continue
		}
		if at := was.column(c.Name); at >= 0 && takeApart(was.Columns[at].ColumnType).name == takeApart(c.ColumnType).name {
			same := was.Columns[at]
			c.Generated, c.Expression, c.Unlogged, c.Guessed = same.Generated, same.Expression, same.Unlogged, same.Guessed
		}
	}
}

// sent returns for each of the columns that rows show its index in Table, -1 for one
// that is not captured.
func (d *Definition) sent() []int {
	out := []int{}
	n := 0
	for _, c := range d.visible() {
		if c.Unlogged {
			out = append(out, -1)
			continue
		}
		out = append(out, n)
		n++
	}
	return slices.Clip(out)
}
