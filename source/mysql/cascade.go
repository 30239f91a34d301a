package mysql

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// A foreign key with ON DELETE or ON UPDATE CASCADE or SET NULL changes rows of the child
// when those of its parent change. Where InnoDB does that itself, below the binlog, the log
// has nothing of it: on MariaDB, on MySQL before 9.6, and later with
// innodb_native_foreign_keys = ON. There the target keeps rows that are gone or have
// other values, and nothing in the log tells.

// cascade is such a foreign key.
type cascade struct {
	child      schema.TableID
	constraint string
	// actions are those that change rows, for instance ON DELETE CASCADE.
	actions string
}

// String says what the constraint does, and the way out.
func (c cascade) String() string {
	return fmt.Sprintf("foreign key %s (%s): the server changes rows of this table by it without writing them to the binlog, so the target does not get these changes. "+
		"Drop the actions and let the application, or a trigger of the parent table, change the child: ALTER TABLE %s DROP FOREIGN KEY %s, and add it without %s; or use MySQL from 9.6 on with innodb_native_foreign_keys = OFF",
		c.constraint, c.actions, wire.Table(c.child.Schema, c.child.Table), wire.Ident(c.constraint), c.actions)
}

// warn tells people who start or check a pipeline.
func (c cascade) warn(l *slog.Logger) {
	l.Warn("a foreign key changes rows that the binlog does not show", "table", c.child.String(), "constraint", c.constraint, "actions", c.actions, "hint", c.String())
}

// logsCascades says whether the binlog has the rows that foreign keys change.
func (s server) logsCascades() bool {
	_, known := s.vars["innodb_native_foreign_keys"]
	return known && !s.on("innodb_native_foreign_keys")
}

// cascades returns the foreign keys of captured tables whose changes are not in the
// binlog, in the order of the tables.
func cascades(ctx context.Context, conn *wire.Conn, s server, captured []schema.TableID) ([]cascade, error) {
	switch {
	case s.logsCascades() || len(captured) == 0:
		return nil, nil
	case s.mariadb():
		return mariaCascades(ctx, conn, captured)
	}
	databases, children := map[string]bool{}, map[schema.TableID]bool{}
	for _, id := range captured {
		databases[id.Schema], children[id] = true, true
	}
	r, err := conn.Query(ctx, "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA IN "+
		literals(slices.Sorted(maps.Keys(databases)))+" ORDER BY CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME")
	if err != nil {
		return nil, fmt.Errorf("read the foreign keys: %w", err)
	}
	var out []cascade
	for _, row := range r.Rows {
		c := cascade{child: schema.TableID{Schema: row[0].String(), Table: row[1].String()}, constraint: row[2].String(), actions: changing("DELETE", row[3].String(), "UPDATE", row[4].String())}
		if c.actions != "" && children[c.child] {
			out = append(out, c)
		}
	}
	return out, nil
}

// mariaCascades asks table by table: MariaDB's information_schema hides foreign keys from
// an account that may only SELECT.
func mariaCascades(ctx context.Context, conn *wire.Conn, captured []schema.TableID) ([]cascade, error) {
	var out []cascade
	for _, id := range captured {
		r, err := conn.Query(ctx, "SHOW CREATE TABLE "+wire.Table(id.Schema, id.Table))
		switch {
		case wire.Code(err) == errNoSuchTable || denied(err):
			continue // gone meanwhile; what can't be read is said elsewhere
		case err != nil:
			return nil, fmt.Errorf("read the foreign keys of table %s: %w", id, err)
		}
		for _, c := range declared(r.Rows[0][1].String()) {
			c.child = id
			out = append(out, c)
		}
	}
	return out, nil
}

// A line of SHOW CREATE TABLE: no comment can look like one, for line breaks in it
// are printed as \n.
var (
	foreignKey = regexp.MustCompile("(?m)^  CONSTRAINT [`\"]?(.+?)[`\"]? FOREIGN KEY \\(.*\\) REFERENCES .*\\)((?: ON (?:DELETE|UPDATE) [A-Z ]+?)*),?$")
	action     = regexp.MustCompile("ON (DELETE|UPDATE) (CASCADE|SET NULL)")
)

// declared returns what the text of SHOW CREATE TABLE has of such foreign keys.
func declared(sql string) []cascade {
	var out []cascade
	for _, m := range foreignKey.FindAllStringSubmatch(sql, -1) {
		if actions := action.FindAllString(m[2], -1); len(actions) > 0 {
			out = append(out, cascade{constraint: strings.ReplaceAll(m[1], "``", "`"), actions: strings.Join(actions, " ")})
		}
	}
	return out
}

// changing writes the actions that change rows, from pairs of event and rule.
func changing(pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		if rule := pairs[i+1]; rule == "CASCADE" || rule == "SET NULL" {
			out = append(out, "ON "+pairs[i]+" "+rule)
		}
	}
	return strings.Join(out, " ")
}

// cascadeWatch is what the reader knows of such foreign keys.
type cascadeWatch struct {
	due    map[schema.TableID]bool // whose definition has changed since they were asked for
	warned map[cascade]bool
}

// warnCascades tells of the foreign keys of the tables that match.
func (r *reader) warnCascades(ctx context.Context, conn *wire.Conn) error {
	r.cascades = cascadeWatch{due: map[schema.TableID]bool{}, warned: map[cascade]bool{}}
	var captured []schema.TableID
	for _, db := range r.catalog.Databases() {
		for _, d := range r.catalog.Tables(db.Name) {
			if r.cfg.match(d.ID) {
				captured = append(captured, d.ID)
			}
		}
	}
	found, err := cascades(ctx, conn, r.server, captured)
	r.warnNew(found)
	return err
}

// warnNew tells of foreign keys that nobody was told of.
func (r *reader) warnNew(found []cascade) {
	for _, c := range found {
		if !r.cascades.warned[c] {
			r.cascades.warned[c] = true
			c.warn(r.logger)
		}
	}
}

// noteCascades notes the captured tables that have another definition in now: statements
// give foreign keys to tables.
func (r *reader) noteCascades(was, now *ddl.Catalog) {
	if was == now || r.server.logsCascades() {
		return
	}
	for id := range r.tables {
		d, ok := now.Definition(id)
		if old, had := was.Definition(id); ok && (!had || old != d) {
			r.cascades.due[id] = true
		}
	}
}

// askCascades asks for the foreign keys of the tables that were noted. That the server
// does not answer ends nothing.
func (r *reader) askCascades() {
	if len(r.cascades.due) == 0 {
		return
	}
	due, s := slices.SortedFunc(maps.Keys(r.cascades.due), compareIDs), r.server
	asked := r.pool.ask(func(ctx context.Context, c *control) func(context.Context) error {
		var found []cascade
		err := c.with(ctx, func(conn *wire.Conn) (err error) {
			found, err = cascades(ctx, conn, s, due)
			return err
		})
		return func(context.Context) error {
			r.warnNew(found)
			if err != nil {
				r.logger.Warn("whether foreign keys change rows that the binlog does not show can't be told", "tables", len(due), "error", err)
			}
			return nil
		}
	})
	if asked {
		clear(r.cascades.due)
	}
}
