package binlog

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// layout is how the rows of one version of a table lie in the log. It is immutable.
type layout struct {
	table   *schema.Table
	columns []logColumn
	keys    []int // indexes in columns, in the order of the key
	sent    []int // indexes in columns of those that are sent
	// rowEnd is the column of a system-versioned table that says until when a row
	// was the current one, -1 for other tables.
	rowEnd int
	// json is how many JSON columns there are.
	json int
	// wantBefore: rows come with those before the change.
	wantBefore bool
	// keylessUpdates: the sink takes updates and deletes of a table without a key.
	keylessUpdates bool
	// sinkResolves: updates may name columns that did not change and are not known.
	sinkResolves bool
	// wantOrigin: batches say where their rows come from.
	wantOrigin bool
	values     value.Options

	rowBytes atomic.Int64 // of the rows seen so far, on average
}

// logColumn is a column of the rows in the log.
type logColumn struct {
	target int // index in the table's columns, -1 for one that is not sent
	key    bool
	// computed: a generated column of MariaDB, or one that may be, which may be left out
	// of the row after an update although it changed.
	computed bool
	typ      value.CellType
	shape    value.Shape
	// fallback is what an insert that leaves the column out has put there.
	fallback fallback
}

// fallback is the default of a column.
type fallback struct {
	known bool
	text  *string // nil: NULL
}

// weigh returns about how many rows n bytes of rows are.
func (l *layout) weigh(n int) int {
	const guess = 64
	per := l.rowBytes.Load()
	if per <= 0 {
		per = guess
	}
	return 1 + n/int(per)
}

// needs is what the sinks of the pipeline can use.
type needs struct{ before, keylessUpdates, resolvesUnchanged, origin bool }

// newLayout compares what a TABLE_MAP says with the definition in force.
func newLayout(d *ddl.Definition, t *event.TableMap, n needs, o ddl.Options) (*layout, error) {
	table, err := d.Table()
	if err != nil {
		return nil, err
	}
	m, err := described(t)
	if err != nil {
		return nil, err
	}
	targets, err := d.Match(m, o)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDefinition, err)
	}
	l := &layout{table: table, rowEnd: rowEnd(d, table, targets, m), wantBefore: n.before || !table.HasKey(), keylessUpdates: n.keylessUpdates,
		sinkResolves: n.resolvesUnchanged && table.OmitsUnchanged, wantOrigin: n.origin, values: o.Value}
	for i, target := range targets {
		c := logColumn{target: target, typ: value.CellType{Type: t.Types[i], Meta: t.Metas[i]}}
		if target >= 0 {
			l.sent = append(l.sent, i)
			definition := columnOf(d, table.Columns[target])
			c.fallback = defaultOf(definition)
			c.computed = o.MariaDB && (definition.Generated != "" || definition.Guessed)
			c.shape, err = value.ColumnShape(table.Columns[target], c.typ)
		} else {
			c.shape, err = value.ShapeOf(c.typ)
		}
		if err != nil {
			return nil, err
		}
		if t.Types[i] == jsonType {
			l.json++
		}
		l.columns = append(l.columns, c)
	}
	for _, k := range table.KeyIndexes() {
		i := slices.Index(targets, k)
		l.keys = append(l.keys, i)
		l.columns[i].key = true
	}
	return l, nil
}

// jsonType is the number of JSON in the protocol.
const jsonType = 245

// described is what a TABLE_MAP says, for the definition to be compared with.
func described(t *event.TableMap) (ddl.TableMap, error) {
	meta, err := t.Metadata()
	if err != nil {
		return ddl.TableMap{}, err
	}
	m := ddl.TableMap{Types: t.Types, Metas: t.Metas, Nullable: make([]bool, len(t.Types)), Unsigned: meta.Unsigned, Collations: meta.Collations, Geometry: meta.Geometry,
		Dimensions: meta.Dimensions, Names: meta.Names, Labels: meta.Labels, Visible: meta.Visible, PrimaryKey: meta.PrimaryKey, Prefixes: meta.Prefixes}
	for i := range m.Nullable {
		m.Nullable[i] = t.Nullable.Has(i)
	}
	return m, nil
}

// columnOf returns the definition of a column that is sent.
func columnOf(d *ddl.Definition, c schema.Column) ddl.Column {
	i := slices.IndexFunc(d.Columns, func(of ddl.Column) bool { return of.Ordinal == c.Ordinal })
	return d.Columns[i]
}

// rowEnd returns the column of the log that says until when a row of a
// system-versioned table was the current one, -1 for none.
func rowEnd(d *ddl.Definition, table *schema.Table, targets []int, m ddl.TableMap) int {
	if !d.Versioned {
		return -1
	}
	for i, target := range targets {
		if target >= 0 && columnOf(d, table.Columns[target]).SystemTime == "END" {
			return i
		}
	}
	if m.Names != nil {
		return slices.Index(m.Names, "row_end")
	}
	// The server's own two columns are the first ones behind the table's: row_start, row_end.
	if end := len(d.Columns) + 1; end < len(targets) {
		return end
	}
	return -1
}

// defaultOf returns what an insert puts where it names no value, as far as the
// definition tells it without doubt: a TIMESTAMP depends on the session's zone.
func defaultOf(c ddl.Column) fallback {
	switch {
	case c.Generated != "" || c.DefaultIsExpression || c.AutoIncrement || c.SystemTime != "":
		return fallback{}
	case c.Default == nil:
		return fallback{known: c.Nullable}
	case strings.HasPrefix(c.ColumnType, "timestamp"):
		return fallback{}
	}
	return fallback{known: true, text: c.Default}
}
