package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// ErrNoTables is returned when the patterns select nothing.
var ErrNoTables = errors.New("no table matches")

// catalogue is what the server says of its tables at one moment.
type catalogue struct {
	Databases []ddl.Database
	// Definitions are those of all tables of the databases that hold captured ones: a
	// table that is not captured may be renamed to one that is.
	Definitions []ddl.Definition
	// Captured are the tables that match, ordered by database and name.
	Captured []tableInfo
}

// ids are the names of the captured tables.
func (out *catalogue) ids() []schema.TableID {
	ids := make([]schema.TableID, len(out.Captured))
	for i, t := range out.Captured {
		ids[i] = t.ID
	}
	return ids
}

// tableInfo is a captured table.
type tableInfo struct {
	ID schema.TableID
	// Engine is the storage engine, for instance InnoDB; Partitioned, Versioned: the
	// table has partitions, or keeps old rows itself (MariaDB).
	Engine                 string
	Partitioned, Versioned bool
	// Rows and Bytes are the server's estimates, -1 where unknown.
	Rows, Bytes int64
}

// transactional says whether reads of the engine see one moment.
func (t *tableInfo) transactional() bool {
	switch strings.ToLower(t.Engine) {
	case "innodb", "rocksdb", "tokudb":
		return true
	}
	return false
}

// systemDatabases are the server's own.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

// loadCatalogue reads the definitions in a few queries, whatever the number of tables.
// These see one moment each: where a table went between them, they are asked again.
func (c *config) loadCatalogue(ctx context.Context, conn *wire.Conn, s server) (*catalogue, error) {
	if err := showGenerated(ctx, conn, s); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		out, vanished, err := c.readCatalogue(ctx, conn, s)
		switch {
		case err != nil:
			return nil, err
		case vanished == (schema.TableID{}):
			return out, nil
		case try == beginTries:
			return nil, withHint(fmt.Errorf("table %s is listed, but its columns can't be read: %w", vanished, errRestless), "grant SELECT on it, or leave it out with tables.exclude")
		}
	}
}

// showGenerated has the session show primary keys that the server generated: they are
// in the rows.
func showGenerated(ctx context.Context, conn *wire.Conn, s server) error {
	if v, ok := s.vars["show_gipk_in_create_table_and_information_schema"]; ok && !strings.EqualFold(v, "ON") {
		return conn.Exec(ctx, "SET SESSION show_gipk_in_create_table_and_information_schema = ON")
	}
	return nil
}

// readDefinitions reads the definitions of all tables of some databases. Where a
// statement changed one meanwhile, they need not be those of one moment.
func (c *config) readDefinitions(ctx context.Context, conn *wire.Conn, s server, held map[string]bool) ([]ddl.Definition, error) {
	if err := showGenerated(ctx, conn, s); err != nil {
		return nil, err
	}
	d := definitions{server: s, held: held, byID: map[schema.TableID]*ddl.Definition{}}
	if err := d.read(ctx, conn); err != nil {
		return nil, err
	}
	return d.sorted(), nil
}

// readCatalogue reads the definitions once. It names a captured table whose definition
// was gone before it could be read.
func (c *config) readCatalogue(ctx context.Context, conn *wire.Conn, s server) (out *catalogue, vanished schema.TableID, err error) {
	captured, err := c.listTables(ctx, conn)
	if err != nil {
		return nil, vanished, err
	}
	if len(captured) == 0 {
		return nil, vanished, withHint(fmt.Errorf("%w %q", ErrNoTables, c.pattern),
			`check tables and tables.exclude: database.table, dots of a regular expression escaped (\.), and that the account may SELECT from them: tables without any privilege do not show`)
	}
	out = &catalogue{Captured: captured}
	held := map[string]bool{}
	for _, t := range captured {
		held[t.ID.Schema] = true
	}
	if out.Databases, err = readDatabases(ctx, conn, s, held); err != nil {
		return nil, vanished, err
	}
	d := definitions{server: s, held: held, byID: map[schema.TableID]*ddl.Definition{}}
	if err := d.read(ctx, conn); err != nil {
		return nil, vanished, err
	}
	out.Definitions = d.sorted()
	for _, t := range captured {
		if d := d.byID[t.ID]; d == nil || len(d.Columns) == 0 {
			vanished = t.ID
		}
	}
	return out, vanished, nil
}

// listTables returns the captured tables: base tables, no views, sequences or temporary ones.
func (c *config) listTables(ctx context.Context, conn *wire.Conn) ([]tableInfo, error) {
	r, err := conn.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, CREATE_OPTIONS FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND TABLE_SCHEMA NOT IN "+
		literals(systemDatabases))
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	var out []tableInfo
	for _, row := range r.Rows {
		id := schema.TableID{Schema: row[0].String(), Table: row[1].String()}
		if !c.match(id) {
			continue
		}
		if row[3].Null() {
			return nil, withHint(fmt.Errorf("table %s: its definition can't be read", id), "look at SHOW TABLE STATUS, or leave it out with tables.exclude")
		}
		out = append(out, tableInfo{ID: id, Engine: row[3].String(), Versioned: row[2].String() == "SYSTEM VERSIONED",
			Partitioned: strings.Contains(row[4].String(), "partitioned"), Rows: -1, Bytes: -1})
	}
	slices.SortFunc(out, func(a, b tableInfo) int { return compareIDs(a.ID, b.ID) })
	return out, nil
}

func compareIDs(a, b schema.TableID) int {
	if n := strings.Compare(a.Schema, b.Schema); n != 0 {
		return n
	}
	return strings.Compare(a.Table, b.Table)
}

// literals writes a list for IN.
func literals(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = wire.Literal(n)
	}
	return "(" + strings.Join(quoted, ", ") + ")"
}

// readDatabases lists all databases; those in held are complete as far as the account may
// see all tables of them.
func readDatabases(ctx context.Context, conn *wire.Conn, s server, held map[string]bool) ([]ddl.Database, error) {
	g, err := readGrants(ctx, conn, s)
	if err != nil {
		return nil, err
	}
	r, err := conn.Query(ctx, "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME")
	if err != nil {
		return nil, fmt.Errorf("list databases: %w", err)
	}
	var out []ddl.Database
	for _, row := range r.Rows {
		name := row[0].String()
		out = append(out, ddl.Database{Name: name, Charset: row[1].String(), Collation: row[2].String(), Complete: held[name] && g.sees(name), Partial: held[name] && !g.sees(name)})
	}
	return out, nil
}

// estimate fills in the server's estimates of rows and bytes.
func (out *catalogue) estimate(ctx context.Context, conn *wire.Conn) error {
	if conn.Flavor() == wire.MySQL {
		// Else the figures may be a day old.
		if err := conn.Exec(ctx, "SET SESSION information_schema_stats_expiry = 0"); err != nil {
			return err
		}
	}
	byID := map[schema.TableID]*tableInfo{}
	for i := range out.Captured {
		byID[out.Captured[i].ID] = &out.Captured[i]
	}
	// The condition names single tables, so that the server opens no others.
	for part := range slices.Chunk(out.Captured, 500) {
		var pairs []string
		for _, t := range part {
			pairs = append(pairs, fmt.Sprintf("(TABLE_SCHEMA = %s AND TABLE_NAME = %s)", wire.Literal(t.ID.Schema), wire.Literal(t.ID.Table)))
		}
		r, err := conn.Query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS, DATA_LENGTH FROM information_schema.TABLES WHERE "+strings.Join(pairs, " OR "))
		if err != nil {
			return fmt.Errorf("read the sizes of tables: %w", err)
		}
		for _, row := range r.Rows {
			if t := byID[schema.TableID{Schema: row[0].String(), Table: row[1].String()}]; t != nil {
				t.Rows, t.Bytes = estimateOf(row[2]), estimateOf(row[3])
			}
		}
	}
	return nil
}

func estimateOf(v wire.Value) int64 {
	n, err := strconv.ParseInt(v.String(), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
