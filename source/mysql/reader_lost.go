package mysql

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// A statement that can't be followed leaves the definition of a table unknown from its
// place on, and the server shows the present one. That is the one in force behind the
// statement if no other statement about the table lies between. So the definition is read,
// then it is asked where the log ends, and another stream looks at the log up to there;
// the tail stands meanwhile. A statement that comes before the table has rows leaves all
// as it is: nobody needs the definition in front of it, and behind it is the next try.

// lostTable is a table whose definition is not known where the tail stands.
type lostTable struct {
	id schema.TableID
	// was is what the catalogue has of it, nil where it never saw the table.
	was *ddl.Definition
	// now is the definition that the server shows, nil for none.
	now *ddl.Definition
	// rows is where the table has rows first, statement what is said about it first, in
	// the log from the tail's position on; 0 and nil for nothing up to the log's end.
	rows      uint64
	statement *ddl.Effect
}

// lostTables returns the tables whose definitions are not known, as far as another look
// may change that.
func (r *reader) lostTables() []*lostTable {
	position := r.core.Position()
	if position < r.guessed { // what the log says of its rows is all there is
		return nil
	}
	var out []*lostTable
	for _, db := range r.catalog.Databases() {
		for _, d := range r.catalog.Tables(db.Name) {
			if d.Lost != "" && r.cfg.match(d.ID) && !r.strange[db.Name] && position > r.lookAgain[d.ID] {
				out = append(out, &lostTable{id: d.ID, was: d})
			}
		}
	}
	if position < r.adoptAt {
		return out
	}
	for _, id := range r.late {
		if _, ok := r.catalog.Definition(id); !ok && r.tables[id] == nil {
			out = append(out, &lostTable{id: id})
		}
	}
	return out
}

// capture ends what was so while a table was not captured.
func (r *reader) capture(id schema.TableID) {
	delete(r.passed, id)
	delete(r.lookAgain, id)
}

// findLost reads the definitions of tables that are not known, and goes on with a stream
// that has them.
func (r *reader) findLost(ctx context.Context) error {
	r.checkLost = false
	lost := r.lostTables()
	if len(lost) == 0 {
		return nil
	}
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := r.log.Close(); err != nil { // one connection reads the log at a time
		return err
	}
	if err := r.present(ctx, conn, lost); err != nil {
		return err
	}
	end, err := r.endOfLog(ctx, conn)
	if err != nil {
		return err
	}
	r.logger.Info("the binlog is looked through for statements about tables whose definitions are not known", "tables", len(lost), "from", r.format(r.core.Position()), "to", r.format(end))
	if err := r.lookAhead(ctx, conn, lost, end); err != nil {
		return err
	}
	for _, l := range lost {
		if err := r.found(ctx, l); err != nil {
			return err
		}
	}
	return r.openStream(ctx, conn, r.here())
}

// present reads the definitions that the server has now.
func (r *reader) present(ctx context.Context, conn *wire.Conn, lost []*lostTable) error {
	held := map[string]bool{}
	for _, l := range lost {
		held[l.id.Schema] = true
	}
	now, err := r.cfg.readDefinitions(ctx, conn, r.server, held)
	if err != nil {
		return err
	}
	for _, d := range now {
		for _, l := range lost {
			if l.id == d.ID {
				l.now = &d
			}
		}
	}
	return nil
}

// lookAhead notes what the log has of the tables up to its end.
func (r *reader) lookAhead(ctx context.Context, conn *wire.Conn, lost []*lostTable, end uint64) error {
	byID := map[schema.TableID]*lostTable{}
	for _, l := range lost {
		byID[l.id] = l
	}
	var mu sync.Mutex // the stream's goroutine tells of rows
	o, err := r.streamOptions(ctx, conn, r.here())
	if err != nil {
		return err
	}
	o.LearnBefore, o.Captured = 0, func(id schema.TableID) bool { return byID[id] != nil }
	o.UnknownXA = func(string, uint64) error { return nil } // the tail's stream will say so
	o.Ahead = func(id schema.TableID, position uint64) {
		mu.Lock()
		defer mu.Unlock()
		if l := byID[id]; l.rows == 0 {
			l.rows = position
		}
	}
	s, err := binlog.Open(ctx, o)
	if err != nil {
		return r.cfg.dumpError(err, o.Start.String())
	}
	defer s.Close() // behind it the notes are ours alone
	for position := r.core.Position(); position < end; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case g, ok := <-s.Groups():
			if !ok {
				return cmp.Or(s.Err(), errLogEnded)
			}
			for _, e := range g.Effects {
				for _, id := range []schema.TableID{e.Table, e.NewID} {
					if l := byID[id]; l != nil && l.statement == nil && e.Position < end {
						l.statement = &e
					}
				}
			}
			position = max(position, g.Position)
			g.Release()
		}
	}
	return nil
}

// found uses what was found out about a table.
func (r *reader) found(ctx context.Context, l *lostTable) error {
	switch {
	case l.was == nil && l.now == nil: // it has gone again
		return nil
	case l.statement != nil && (l.rows == 0 || l.statement.Position < l.rows):
		r.lookAgain[l.id] = l.statement.Position
		return nil
	case l.statement == nil && l.now != nil:
		return r.known(ctx, l)
	case r.guessed != 0: // its rows will tell
		r.lookAgain[l.id] = math.MaxUint64
		return nil
	case l.statement != nil && r.tables[l.id] == nil && !r.cfg.addWhileRunning: // nobody wants its rows
		r.passed[l.id], r.lookAgain[l.id] = true, l.statement.Position
		return nil
	}
	why := "the server shows no such table"
	if l.statement != nil {
		why = fmt.Sprintf("it has rows at %s and is changed again at %s: %s", r.format(l.rows), r.format(l.statement.Position), l.statement.SQL)
	}
	if r.tables[l.id] == nil {
		r.passed[l.id], r.lookAgain[l.id] = true, math.MaxUint64
		r.logger.Warn("a table that matches has come and is not captured, for its definition is not known; scan.newly-added-table.enabled reads it after a restart", "table", l.id.String(), "why", why)
		return nil
	}
	return &SchemaChangeError{Table: l.id, Place: r.format(l.was.LostAt),
		What: fmt.Sprintf("the statement %q can't be followed: %s; the server's definition of the table need not be the one behind it: %s", l.was.LostBy, l.was.Lost, why),
		Hint: "leave the table out with tables.exclude, or start a new pipeline for the table"}
}

// known goes on with the definition that the server has.
func (r *reader) known(ctx context.Context, l *lostTable) error {
	catalog, effect := r.catalog.Learn(*l.now, r.core.Position())
	r.catalog = catalog
	if effect == nil {
		return nil
	}
	if l.was != nil {
		effect.SQL = l.was.LostBy
		r.logger.Info("the definition of the table was read from the server", "table", l.id.String(), "statement", effect.SQL, "changes", len(effect.Changes))
	}
	switch {
	case r.tables[l.id] != nil:
		return r.effect(ctx, &binlog.Group{Files: r.files}, *effect)
	case slices.Contains(r.late, l.id) || r.guessed != 0:
		return nil // it is added in its turn, or when it has rows
	}
	return r.appeared(ctx, *effect)
}
