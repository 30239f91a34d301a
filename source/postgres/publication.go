package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
)

// insertsSuffix is added to the publication's name for the publication of the
// tables whose UPDATE and DELETE must not be published.
const insertsSuffix = "_inserts"

// pgPublication is a publication as the catalogue has it.
type pgPublication struct {
	name                             string
	exists, allTables, viaRoot       bool
	insert, update, delete, truncate bool
	tables                           map[uint32]pgPublished
}

// pgPublished is a table in a publication.
type pgPublished struct{ columns, filter bool }

// publicationNeed is what one publication must hold.
type publicationNeed struct {
	name    string
	inserts bool // for INSERT and TRUNCATE only
	tables  []tableInfo
}

// publicationNeeds splits the captured tables over the two publications.
func (c *config) publicationNeeds(infos []tableInfo) []publicationNeed {
	full := publicationNeed{name: c.publication}
	inserts := publicationNeed{name: c.publication + insertsSuffix, inserts: true}
	for _, t := range infos {
		if t.InsertOnly {
			inserts.tables = append(inserts.tables, t)
		} else {
			full.tables = append(full.tables, t)
		}
	}
	var out []publicationNeed
	for _, n := range []publicationNeed{full, inserts} {
		if len(n.tables) > 0 {
			out = append(out, n)
		}
	}
	return out
}

const publicationQuery = `SELECT p.oid, p.puballtables, p.pubviaroot, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate
	FROM pg_catalog.pg_publication p WHERE p.pubname = $1`

// readPublication looks a publication up.
func readPublication(ctx context.Context, conn *pgx.Conn, name string) (pgPublication, error) {
	p := pgPublication{name: name, tables: map[uint32]pgPublished{}}
	var oid uint32
	err := conn.QueryRow(ctx, publicationQuery, name).Scan(&oid, &p.allTables, &p.viaRoot, &p.insert, &p.update, &p.delete, &p.truncate)
	if err == pgx.ErrNoRows {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("look up publication %q: %w", name, err)
	}
	p.exists = true
	// Column lists, row filters and whole schemas came with PostgreSQL 15.
	query := `SELECT prrelid, false, false FROM pg_catalog.pg_publication_rel WHERE prpubid = $1`
	if serverVersion(conn.PgConn()) >= 150000 {
		query = `SELECT prrelid, prattrs IS NOT NULL, prqual IS NOT NULL FROM pg_catalog.pg_publication_rel WHERE prpubid = $1
			UNION SELECT c.oid, false, false FROM pg_catalog.pg_publication_namespace n JOIN pg_catalog.pg_class c ON c.relnamespace = n.pnnspid
			WHERE n.pnpubid = $1 AND c.relkind IN ('r', 'p')`
	}
	rows, err := conn.Query(ctx, query, oid)
	if err != nil {
		return p, fmt.Errorf("look up publication %q: %w", name, err)
	}
	var rel uint32
	var t pgPublished
	_, err = pgx.ForEachRow(rows, []any{&rel, &t.columns, &t.filter}, func() error { p.tables[rel] = t; return nil })
	if err != nil {
		return p, fmt.Errorf("look up publication %q: %w", name, err)
	}
	return p, nil
}

// missing returns the tables of need that p does not publish.
func (p pgPublication) missing(need publicationNeed) []tableInfo {
	if p.allTables {
		return nil
	}
	var out []tableInfo
	for _, t := range need.tables {
		if _, ok := p.tables[uint32(t.Schema.SourceID)]; !ok {
			out = append(out, t)
		}
	}
	return out
}

// problems compares an existing publication with what is needed of it; missing
// tables are not looked at here.
func (p pgPublication) problems(need publicationNeed) []error {
	var out []error
	bad := func(problem, hint string) {
		out = append(out, &PublicationError{Publication: p.name, Problem: problem, Hint: hint})
	}
	quoted := quoteIdent(p.name)
	switch {
	case need.inserts && (p.update || p.delete):
		bad("it publishes UPDATE and DELETE, which would fail at the application for tables without a replica identity: "+tableNames(need.tables),
			fmt.Sprintf("ALTER PUBLICATION %s SET (publish = 'insert, truncate')", quoted))
	case need.inserts && (!p.insert || !p.truncate):
		bad("it does not publish INSERT and TRUNCATE", fmt.Sprintf("ALTER PUBLICATION %s SET (publish = 'insert, truncate')", quoted))
	case !need.inserts && !(p.insert && p.update && p.delete && p.truncate):
		bad("it does not publish all of INSERT, UPDATE, DELETE and TRUNCATE", fmt.Sprintf("ALTER PUBLICATION %s SET (publish = 'insert, update, delete, truncate')", quoted))
	}
	if !p.viaRoot && slices.ContainsFunc(need.tables, func(t tableInfo) bool { return t.Kind == 'p' }) {
		bad("it does not publish partitions as their root table", fmt.Sprintf("ALTER PUBLICATION %s SET (publish_via_partition_root = true)", quoted))
	}
	for _, t := range need.tables {
		if r := p.tables[uint32(t.Schema.SourceID)]; r.columns || r.filter {
			bad(fmt.Sprintf("it has a column list or a row filter for table %s", t.Schema.ID), "publish the whole table: drop it from the publication and add it without them")
		}
	}
	return out
}

func tableNames(tables []tableInfo) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Schema.ID.String()
	}
	return strings.Join(names, ", ")
}

// tableList lists tables for a publication. ONLY keeps the children of
// inheritance out, which are tables of their own.
func tableList(tables []tableInfo) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = "ONLY " + quoteTable(t.Schema.ID)
	}
	return strings.Join(names, ", ")
}

func (n publicationNeed) create() string {
	publish := "insert, update, delete, truncate"
	if n.inserts {
		publish = "insert, truncate"
	}
	return fmt.Sprintf("CREATE PUBLICATION %s FOR TABLE %s WITH (publish = '%s', publish_via_partition_root = true)", quoteIdent(n.name), tableList(n.tables), publish)
}

func (n publicationNeed) add(missing []tableInfo) string {
	return fmt.Sprintf("ALTER PUBLICATION %s ADD TABLE %s", quoteIdent(n.name), tableList(missing))
}

// ensurePublications creates the publications and adds captured tables to them,
// or, where that is switched off, verifies them. It returns the tables that were
// not published before, and the snapshot's xmax behind the change (0 for none).
func (c *config) ensurePublications(ctx context.Context, conn *pgx.Conn, infos []tableInfo) (added map[schema.TableID]bool, xmax uint64, err error) {
	added = map[schema.TableID]bool{}
	for _, need := range c.publicationNeeds(infos) {
		p, err := readPublication(ctx, conn, need.name)
		if err != nil {
			return nil, 0, err
		}
		missing := p.missing(need)
		sql := ""
		switch {
		case !p.exists:
			sql = need.create()
		case len(missing) > 0:
			sql = need.add(missing)
		}
		if sql != "" && !c.autocreate {
			return nil, 0, &PublicationError{Publication: need.name, Problem: "it lacks " + tableNames(missing), Hint: sql}
		}
		if p.exists {
			if problems := p.problems(need); len(problems) > 0 {
				return nil, 0, problems[0]
			}
		}
		if sql == "" {
			continue
		}
		if _, err := conn.Exec(ctx, sql); err != nil {
			return nil, 0, withHint(fmt.Errorf("publication %q: %w", need.name, err), "publication.autocreate.mode: disabled, and let an owner of the tables run: %s", sql)
		}
		for _, t := range missing {
			added[t.Schema.ID] = true
		}
	}
	if err := c.leaveInserts(ctx, conn, infos); err != nil {
		return nil, 0, err
	}
	if len(added) == 0 {
		return added, 0, nil
	}
	var text string
	if err := conn.QueryRow(ctx, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text`).Scan(&text); err != nil {
		return nil, 0, fmt.Errorf("read the current snapshot: %w", err)
	}
	if _, err := fmt.Sscan(text, &xmax); err != nil {
		return nil, 0, fmt.Errorf("read the current snapshot: %w", err)
	}
	return added, xmax, nil
}

// leaveInserts takes a table that has lost its replica identity out of the full
// publication, where it would make the application's updates fail.
func (c *config) leaveInserts(ctx context.Context, conn *pgx.Conn, infos []tableInfo) error {
	if !c.autocreate {
		return nil
	}
	p, err := readPublication(ctx, conn, c.publication)
	if err != nil || !p.exists || p.allTables {
		return err
	}
	var out []tableInfo
	for _, t := range infos {
		if _, in := p.tables[uint32(t.Schema.SourceID)]; in && t.InsertOnly {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil
	}
	names := strings.ReplaceAll(tableList(out), "ONLY ", "")
	if _, err := conn.Exec(ctx, fmt.Sprintf("ALTER PUBLICATION %s DROP TABLE %s", quoteIdent(c.publication), names)); err != nil {
		return fmt.Errorf("publication %q: %w", c.publication, err)
	}
	return nil
}

// release takes tables out of the publication whose updates fail at the
// application by now.
func (c *config) release(ctx context.Context, conn *pgx.Conn) error {
	infos, err := inspect(ctx, conn, c, false)
	if err != nil {
		return err
	}
	return c.leaveInserts(ctx, conn, infos)
}

// publicationNames is the value of pgoutput's publication_names: quoted
// identifiers, separated by commas.
func (a *attachment) publicationNames() string {
	var names []string
	for _, n := range a.cfg.publicationNeeds(a.infos) {
		names = append(names, quoteIdent(n.name))
	}
	return strings.Join(names, ",")
}
