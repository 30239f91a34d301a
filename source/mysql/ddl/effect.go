package ddl

import (
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
)

// EffectKind tells the kinds of [Effect] apart.
type EffectKind uint8

// The kinds of effect that a statement has on the table of a name.
const (
	// Create: the name has a table that it did not have; After is set. With
	// RewritesRows it came with rows (From is where they were).
	Create EffectKind = iota + 1
	// Alter: the definition changed, or the rows did without events, or both. A
	// shadow table of an online schema change that took the name (From) is an Alter too.
	Alter
	// Rename: the table has the name NewID now, where none was before.
	Rename
	// Drop: the name has no table any more. NewID is set when the table took the
	// place of another one, whose own effect tells of it.
	Drop
	// Truncate: the table was emptied.
	Truncate
	// Unknown: the definition can't be told from the statement. The caller reads
	// it from the server where that is provably the one in force, and gives it to
	// Catalog.Learn, or stops with Err.
	Unknown
	// RowChange: the statement itself changes rows (binlog_format STATEMENT or
	// MIXED). There may be no events for them, so Err is set.
	RowChange
)

// String returns the kind's name in lower case.
func (k EffectKind) String() string {
	switch k {
	case Create:
		return "create"
	case Alter:
		return "alter"
	case Rename:
		return "rename"
	case Drop:
		return "drop"
	case Truncate:
		return "truncate"
	case Unknown:
		return "unknown"
	case RowChange:
		return "row change"
	}
	return "none"
}

// Effect is what a statement does to one table of the catalogue.
type Effect struct {
	// Table is the name, before the statement where it is a Rename.
	Table schema.TableID
	Kind  EffectKind
	// NewID is the new name of a Rename or Drop, From the one that the table had
	// before which has the name Table now.
	NewID, From schema.TableID
	// Before and After are the definitions as sent, nil where there is none or it
	// can't be carried.
	Before, After *schema.Table
	// Changes lead from Before to After, in the order drop, rename, alter, add, and
	// are empty when nothing that is sent changed. The last one's After is After.
	// Of an alter, Columns are also those whose comment, default or place changed.
	Changes []*schema.Change
	// RewritesRows: rows that were there have other values now, or are gone, or
	// others are there, without events. What says why.
	RewritesRows bool
	What         string
	// Err is an [*Error]: the Changes say less than what happened (NotEvolvable), or
	// nothing can be said at all (Unknown, RowChange).
	Err error
	// SQL is the statement, shortened.
	SQL      string
	Position uint64
}

// What errors.Is finds in an [Error].
var (
	// ErrNotEvolvable: a change beyond adding, dropping, renaming and widening columns.
	ErrNotEvolvable = errors.New("the change can't be followed")
	// ErrUnparsable: the statement's effect on the table can't be told.
	ErrUnparsable = errors.New("the statement can't be followed")
	// ErrRowChange: rows were changed by a statement without events for them.
	ErrRowChange = errors.New("rows were changed without events")
)

// Error is a statement that a table can't be carried over as it is.
type Error struct {
	Table    schema.TableID
	Position uint64
	SQL      string
	// What says what happened, Hint the way out.
	What, Hint string
	// Err is one of the sentinels.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("table %s at position %d: %v: %s: %s (%s)", e.Table, e.Position, e.Err, e.What, e.SQL, e.Hint)
}

func (e *Error) Unwrap() error { return e.Err }

// startAgain is the way out of what can't be followed.
const startAgain = "let the pipeline read the table again, or exclude it"
