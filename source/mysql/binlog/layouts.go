package binlog

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// layouts finds how the rows of tables are decoded.
type layouts struct {
	o Options
	// known are the layouts so far. A table that is announced anew, under another id
	// or in another file, keeps its layout while nothing has changed.
	known map[layoutKey]*layout
}

// layoutKey is a definition and what a TABLE_MAP says behind the table's id.
type layoutKey struct {
	definition *ddl.Definition
	announced  string
}

// resolve is scanner.resolve; body is that of the event.
func (l *layouts) resolve(c *ddl.Catalog, t *event.TableMap, body []byte, pos uint64, at Place) (resolved, error) {
	id := schema.TableID{Schema: string(t.Database), Table: string(t.Table)}
	d, ok := c.Definition(id)
	if ok {
		id = d.ID // as the catalogue spells it
	}
	if !l.o.Captured(id) || !ok && l.o.Values.MariaDB && isSequence(t) {
		return resolved{}, nil
	}
	if l.o.Ahead != nil {
		l.o.Ahead(id, pos)
		return resolved{}, nil
	}
	if (!ok || d.Lost != "") && l.o.Passed != nil && l.o.Passed(id) {
		return resolved{}, nil
	}
	if ok {
		out, err := l.layout(c, d, t, body)
		if err == nil {
			return resolved{layout: out}, nil
		}
		if pos >= l.o.LearnBefore {
			return resolved{}, &TableError{Table: id, Place: at, Err: err}
		}
	} else if pos >= l.o.LearnBefore {
		return resolved{}, &TableError{Table: id, Place: at, Err: withHint(fmt.Errorf("%w: the table has rows, but no definition", ErrDefinition), "%s", noDefinition)}
	}
	r, err := l.learn(c, id, t, body, pos)
	if err != nil {
		return r, &TableError{Table: id, Place: at, Err: err}
	}
	return r, nil
}

// layout returns the layout of a table's rows, the same one for the same definition
// and event.
func (l *layouts) layout(c *ddl.Catalog, d *ddl.Definition, t *event.TableMap, body []byte) (*layout, error) {
	key := layoutKey{d, string(body[tableIDSize:])}
	if known := l.known[key]; known != nil {
		return known, nil
	}
	out, err := newLayout(d, t, needs{l.o.Before, l.o.KeylessUpdates, l.o.ResolvesUnchanged, l.o.Origin}, c.Options())
	if err != nil {
		return nil, err
	}
	if len(l.known) >= maxMapped {
		clear(l.known)
	}
	l.known[key] = out
	return out, nil
}

// learn takes the definition of a table from the event.
func (l *layouts) learn(c *ddl.Catalog, id schema.TableID, t *event.TableMap, body []byte, pos uint64) (resolved, error) {
	m, err := described(t)
	if err != nil {
		return resolved{}, err
	}
	d, err := ddl.FromTableMap(id, m, c.Options())
	if err != nil {
		return resolved{}, err
	}
	next, effect := c.Learn(d, pos)
	now, ok := next.Definition(id)
	if !ok {
		return resolved{}, fmt.Errorf("%w: nothing was learned of the table", ErrDefinition)
	}
	out, err := l.layout(next, now, t, body)
	if err != nil {
		return resolved{}, err
	}
	if effect == nil {
		effect = &ddl.Effect{Table: id, Kind: ddl.Alter, Position: pos}
		effect.Before, _ = now.Table()
		effect.After = effect.Before
	}
	return resolved{layout: out, learned: effect, catalog: next}, nil
}

// isSequence reports whether a table that has no definition looks like a sequence
// of MariaDB, which logs its state as a row.
func isSequence(t *event.TableMap) bool {
	const tiny, bigint = 1, 8
	return bytes.Equal(t.Types, []byte{bigint, bigint, bigint, bigint, bigint, bigint, tiny, bigint}) && t.Nullable.Count(len(t.Types)) == 0
}

// tableIDSize is the length of the id in front of a TABLE_MAP and of rows.
const tableIDSize = 6

// noDefinition is the way out where the account can't see a table, or could not before.
const noDefinition = "leave the table out with tables.exclude; to capture it, grant SELECT on it and read it with scan.newly-added-table.enabled"

// wholeDelete empties a table. A server writes it that way for a table of the engine
// MEMORY, which it finds empty after its start.
var wholeDelete = regexp.MustCompile("^DELETE FROM (`[^`]+`\\.`[^`]+`)$")

// statement applies a statement to the catalogue. What is of no consequence for
// captured tables has no effects.
func (l *layouts) statement(c *ddl.Catalog, q *event.Query, pos uint64, at Place) (*ddl.Catalog, []ddl.Effect, error) {
	next, effects, err := c.Apply(ddl.Statement{SQL: wholeDelete.ReplaceAllString(string(q.SQL), "TRUNCATE TABLE $1"), Database: string(q.Database), SQLMode: q.SQLMode, ClientCharset: q.ClientCharset,
		ServerCollation: q.ServerCollation, DatabaseCollation: q.DatabaseCollation, UTF8MB4Collation: q.DefaultUTF8MB4Collation,
		CharsetCollations: q.CollationOverrides, ImplicitTimestamps: q.ImplicitTimestamps, ThreadID: q.ThreadID, Position: pos})
	if err != nil {
		return c, nil, err
	}
	wanted := effects[:0]
	for _, e := range effects {
		if !l.o.Captured(e.Table) && (e.NewID.IsZero() || !l.o.Captured(e.NewID)) {
			continue
		}
		if e.Kind == ddl.Unknown && pos < l.o.LearnBefore {
			continue // the rows will tell
		}
		if e.Kind == ddl.RowChange {
			return c, nil, &TableError{Table: e.Table, Place: at, Err: fmt.Errorf("%w: %w", ErrStatementFormat, e.Err)}
		}
		wanted = append(wanted, e)
	}
	return next, wanted, nil
}
