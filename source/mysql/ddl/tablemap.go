package ddl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// TableMap is what a TABLE_MAP event says of a table's columns. All slices are by
// column; those that the event does not have are nil.
type TableMap struct {
	// Types and Metas are as in value.CellType.
	Types    []byte
	Metas    []uint16
	Nullable []bool
	// Unsigned and Collations (their numbers) come with binlog_row_metadata=MINIMAL too.
	Unsigned   []bool
	Collations []uint16
	Geometry   []uint64 // 0 GEOMETRY, 1 POINT, ...
	Dimensions []uint64 // of a VECTOR
	// The rest comes with binlog_row_metadata=FULL alone.
	Names   []string
	Labels  [][]string // in the column's character set
	Visible []bool
	// PrimaryKey are indexes of columns in the order of the key, Prefixes how many
	// characters of each belong to it, 0 for all.
	PrimaryKey []int
	Prefixes   []uint64
}

// ErrMismatch is wrapped by every [MismatchError].
var ErrMismatch = errors.New("the log does not fit the definition of the table")

// MismatchError is a table whose rows in the log can't be of the definition in force.
type MismatchError struct {
	Table schema.TableID
	// Column is the one to blame, empty where it is their number.
	Column string
	What   string
}

func (e *MismatchError) Error() string {
	where := "table " + e.Table.String()
	if e.Column != "" {
		where += ", column " + e.Column
	}
	return fmt.Sprintf("%s: %v: %s (the history of its definition is incomplete, for instance by a statement under sql_log_bin=0; %s)", where, ErrMismatch, e.What, startAgain)
}

func (e *MismatchError) Unwrap() error { return ErrMismatch }

// Match checks that rows which are written as m says are of this definition. It
// returns, for each column of the log, its index in the columns of Table, -1 for one
// that the server hides or that is not captured. A mismatch is a [*MismatchError].
func (d *Definition) Match(m TableMap, o Options) ([]int, error) {
	columns, err := d.logOrder(m, o)
	if err != nil {
		return nil, err
	}
	visible, sent := d.visible(), d.sent()
	for i, at := range columns {
		if at < 0 {
			continue
		}
		columns[i] = sent[at]
		if what := matchColumn(visible[at], m, i, o); what != "" {
			return nil, &MismatchError{Table: d.ID, Column: visible[at].Name, What: what}
		}
	}
	return columns, nil
}

// visible returns the columns that rows show.
func (d *Definition) visible() []Column {
	return slices.DeleteFunc(slices.Clone(d.Columns), func(c Column) bool { return c.Hidden })
}

// logOrder finds the columns of the table in those of the log. Hidden columns are
// behind them in MariaDB. MySQL before 8.0.23 has them where they were made, which
// only their names tell when the definition was read from the server.
func (d *Definition) logOrder(m TableMap, o Options) ([]int, error) {
	visible := d.visible()
	n := len(m.Types)
	least, most := d.hiddenTail()
	switch {
	case n == len(visible) && least == 0:
		return order(n, func(int) bool { return false }), nil
	case n == len(d.Columns) && !o.MariaDB:
		return order(n, func(i int) bool { return d.Columns[i].Hidden }), nil
	case o.MariaDB && n >= len(visible)+least && n <= len(visible)+most:
		return order(n, func(i int) bool { return i >= len(visible) }), nil
	}
	if hidden := hiddenByName(m, o); len(hidden) > 0 && n-len(hidden) == len(visible) {
		return order(n, func(i int) bool { return slices.Contains(hidden, i) }), nil
	}
	return nil, &MismatchError{Table: d.ID, What: fmt.Sprintf("its rows have %d columns, the definition has %d", n, len(visible))}
}

// order numbers the columns that are not hidden.
func order(n int, hidden func(i int) bool) []int {
	out := make([]int, n)
	next := 0
	for i := range out {
		if out[i] = -1; !hidden(i) {
			out[i] = next
			next++
		}
	}
	return out
}

var (
	expressionName = regexp.MustCompile(`^[0-9a-f]{32}$`)
	hashName       = regexp.MustCompile(`^DB_ROW_HASH_[0-9]+$`)
)

// hiddenByName returns the indexes of the columns that have the name of a hidden one.
func hiddenByName(m TableMap, o Options) []int {
	var out []int
	last := len(m.Names) - 1
	for ; last >= 0 && o.MariaDB && hashName.MatchString(m.Names[last]); last-- {
		out = append(out, last)
	}
	if o.MariaDB && last >= 2 && m.Names[last] == "row_end" && m.Names[last-1] == "row_start" {
		return append(out, last, last-1)
	}
	for i, name := range m.Names {
		if !o.MariaDB && o.Version < versionNoHidden && expressionName.MatchString(name) {
			out = append(out, i)
		}
	}
	return out
}

// versionNoHidden is the MySQL from which on rows in the log have no hidden columns.
const versionNoHidden = 80023

// FromTableMap makes the definition that a TABLE_MAP with all metadata
// (binlog_row_metadata=FULL) tells of: for places of the log from whose time no
// definition is known. What the event does not say is missing: defaults, comments,
// unique keys, the width by which TINYINT(1) is known, MariaDB's UUID and INET6 (they are
// BINARY there), and which columns are generated.
func FromTableMap(id schema.TableID, m TableMap, o Options) (Definition, error) {
	d := Definition{ID: id}
	if m.Names == nil {
		return d, fmt.Errorf("table %s: %w, and its rows in the log don't describe it (SET GLOBAL binlog_row_metadata=FULL makes later ones do so)", id, ErrUnknown)
	}
	hidden := hiddenByName(m, o)
	d.Versioned = slices.ContainsFunc(hidden, func(i int) bool { return m.Names[i] == "row_end" })
	for i, name := range m.Names {
		c := Column{Definition: value.Definition{Name: name, Nullable: m.Nullable[i]}, Guessed: o.MariaDB}
		if c.Hidden = slices.Contains(hidden, i); c.Hidden && o.MariaDB {
			continue
		}
		c.Invisible = m.Visible != nil && !m.Visible[i]
		if err := logType(&c.Definition, m, i, o); err != nil {
			return d, fmt.Errorf("table %s, column %s: %w", id, name, err)
		}
		d.Columns = append(d.Columns, c)
	}
	var key Key
	for n, i := range m.PrimaryKey {
		if slices.Contains(hidden, i) {
			continue
		}
		p := KeyPart{Column: m.Names[i]}
		if m.Prefixes != nil {
			p.Prefix = int(m.Prefixes[n])
		}
		key.Parts = append(key.Parts, p)
	}
	if len(key.Parts) > 0 {
		key.Name, key.Primary, key.Unique = primaryName, true, true
		d.Keys = append(d.Keys, key)
	}
	return d, nil
}

// collationAt returns the collation of a column of the log, empty where it is not said.
func (m TableMap) collationAt(i int, o Options) string {
	if m.Collations == nil {
		return ""
	}
	return collation.Name(m.Collations[i], o.MariaDB)
}
