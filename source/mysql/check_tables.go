package mysql

import (
	"context"
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// tables checks that the captured tables can be read, and that the binlog has them.
func (c *checker) tables(ctx context.Context) {
	now, err := c.cfg.loadCatalogue(ctx, c.conn, c.server)
	if err != nil {
		c.fail(err)
		return
	}
	unlogged := map[string]bool{}
	for _, t := range now.Captured {
		err := c.conn.Exec(ctx, "SELECT * FROM "+wire.Table(t.ID.Schema, t.ID.Table)+" LIMIT 0")
		switch {
		case denied(err):
			c.bad(ErrPrivilege, fmt.Sprintf("GRANT SELECT ON %s TO %s", wire.Table(t.ID.Schema, t.ID.Table), c.account), "table %s can't be read", t.ID)
		case err != nil:
			c.fail(fmt.Errorf("table %s: %w", t.ID, err))
		}
		if c.status != nil && !c.status.logs(t.ID.Schema) && !unlogged[t.ID.Schema] {
			unlogged[t.ID.Schema] = true
			c.bad(ErrServerUnsuitable, "take the database out of binlog-ignore-db, or into binlog-do-db, and restart the server", "database %s is not written to the binlog", t.ID.Schema)
		}
	}
	c.types(now)
	found, err := cascades(ctx, c.conn, c.server, now.ids())
	if err != nil {
		c.fail(err)
	}
	for _, f := range found {
		f.warn(c.logger)
	}
}

// types checks that every column can be carried.
func (c *checker) types(now *catalogue) {
	catalog := ddl.NewCatalog(c.cfg.catalogOptions(c.server), now.Databases, now.Definitions)
	for _, t := range now.Captured {
		d, ok := catalog.Definition(t.ID)
		if !ok {
			continue
		}
		if _, err := d.Table(); err != nil {
			c.fail(withHint(err, "leave the table out with tables.exclude"))
		}
	}
}

// place checks that the binlog has the place where the options begin.
func (c *checker) place(ctx context.Context) {
	if c.cfg.snapshotsAtStart() || c.cfg.mode == modeLatest || c.status == nil {
		return
	}
	for _, err := range c.problems {
		if errors.Is(err, ErrPrivilege) || errors.Is(err, ErrServerUnsuitable) {
			return // the attempt would say the same in other words
		}
	}
	if _, err := c.cfg.startPlace(ctx, c.conn, c.server); err != nil {
		c.fail(err)
	}
}
