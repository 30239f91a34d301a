package mysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// The pattern of a pipeline may come to match tables of a database that the checkpoint's
// catalogue does not have. Nobody knows their definitions at the checkpoint's place, so
// the log is read without them up to where it ended at the start. Only there, where few
// statements can lie between the place and the reading of the definitions, they are adopted.

// captures returns what the stream takes for captured; other goroutines call it.
func (r *reader) captures() func(schema.TableID) bool {
	strange := maps.Clone(r.strange)
	return func(id schema.TableID) bool { return r.cfg.match(id) && !strange[id.Schema] }
}

// adopts reports whether strange databases are going to be captured.
func (r *reader) adopts() bool { return r.cfg.addOnRestart && len(r.strange) > 0 }

// newcomers makes known what the catalogue does not know so far, once the log has
// come far enough.
func (r *reader) newcomers(ctx context.Context) error {
	if r.inTransaction {
		return nil
	}
	caughtUp := r.core.Position() >= r.adoptAt
	if caughtUp && r.adopts() {
		if err := r.adopt(ctx); err != nil {
			return err
		}
	}
	late := caughtUp && len(r.late) > 0
	if r.checkLost || late {
		if err := r.findLost(ctx); err != nil {
			return err
		}
	}
	if late {
		return r.addLate(ctx)
	}
	return nil
}

// adopt reads the definitions of the strange databases and goes on with a stream that
// has them. No checkpoint is made, and no snapshot of any table begins, before the log
// has shown that nothing changed them meanwhile.
func (r *reader) adopt(ctx context.Context) error {
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	now, err := r.cfg.loadCatalogue(ctx, conn, r.server)
	if err != nil {
		return err
	}
	if r.definitionsAt, err = r.endOfLog(ctx, conn); err != nil {
		return err
	}
	r.learn(now)
	for _, info := range now.Captured {
		if !r.strange[info.ID.Schema] {
			continue
		}
		r.logger.Info("new table", "table", info.ID.String())
		if err := r.addTable(info.ID, r.cfg.snapshotsAtStart()); err != nil {
			return err
		}
		t := r.tables[info.ID]
		t.adopted = true
		r.progressTable(t)
		if err := r.change(ctx, schema.ChangeCreateTable, t); err != nil {
			return err
		}
	}
	r.noteAllUnlogged(nil, r.catalog)
	clear(r.strange)
	if err := r.widenXA(ctx, conn, false); err != nil {
		return err
	}
	return r.reopen(ctx, conn)
}

// reopen ends the stream and opens another one where it stands.
func (r *reader) reopen(ctx context.Context, conn *wire.Conn) error {
	if err := r.log.Close(); err != nil {
		return err
	}
	return r.openStream(ctx, conn, r.here())
}

// here is where the tail stands.
func (r *reader) here() beginning {
	return beginning{ByGTID: r.byGTID, Place: r.files.Place(r.core.Position())}
}

// addLate adds the tables that matched at the start and came since the checkpoint: they
// were created or renamed, by and by perhaps more than one of a name, or could not be
// seen before.
func (r *reader) addLate(ctx context.Context) error {
	late, before := r.late, len(r.tables)
	r.late = nil
	for _, id := range late {
		d, ok := r.catalog.Definition(id)
		if !ok || r.tables[id] != nil || d.Lost != "" && r.lookAgain[id] == math.MaxUint64 {
			continue
		}
		if d.Lost != "" {
			r.late = append(r.late, id)
			continue
		}
		r.logger.Info("new table", "table", id.String())
		if err := r.addTable(id, r.cfg.snapshotsAtStart()); err != nil {
			return err
		}
		r.progressTable(r.tables[id])
		if err := r.change(ctx, schema.ChangeCreateTable, r.tables[id]); err != nil {
			return err
		}
	}
	if len(r.tables) == before || len(r.prepared) == 0 {
		return nil
	}
	conn, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := r.widenXA(ctx, conn, false); err != nil {
		return err
	}
	return r.reopen(ctx, conn)
}

// learn puts the strange databases into the catalogue as they are now.
func (r *reader) learn(now *catalogue) {
	var databases []ddl.Database
	var tables []ddl.Definition
	for _, d := range r.catalog.Databases() {
		if r.strange[d.Name] {
			continue
		}
		databases = append(databases, d)
		for _, t := range r.catalog.Tables(d.Name) {
			tables = append(tables, *t)
		}
	}
	for _, d := range now.Databases {
		if r.strange[d.Name] {
			databases = append(databases, d)
		}
	}
	for _, t := range now.Definitions {
		if r.strange[t.ID.Schema] {
			tables = append(tables, t)
		}
	}
	r.catalog = ddl.NewCatalog(r.catalog.Options(), databases, tables)
}

// logEnded returns why the log has ended.
func (r *reader) logEnded() error {
	err := r.log.Err()
	switch {
	case err == nil:
		return errLogEnded
	case errors.Is(err, binlog.ErrDefinition) && r.core.Position() < r.definitionsAt:
		// Another attempt reads the definitions anew.
		return fmt.Errorf("%w: %v", errDefinitionsMoved, err)
	}
	return err
}
