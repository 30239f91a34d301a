package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
)

// ErrNoTables is returned when the patterns select nothing.
var ErrNoTables = errors.New("no table matches")

// tableInfo is a captured table as the catalogue has it.
type tableInfo struct {
	Schema *schema.Table
	Kind   byte // relkind: 'r' a table, 'p' a partitioned one
	// Leaves are what holds the rows: the table itself, or its leaf partitions.
	Leaves []leaf
	// Unlogged are partitions that are not captured, since no log shows their changes.
	Unlogged []string
	// Identity is relreplident: default, full, index or nothing.
	Identity byte
	// InsertOnly: published without UPDATE and DELETE, because they would fail at
	// the application for lack of a replica identity.
	InsertOnly bool
	// Rows and Bytes are the server's estimates, -1 where unknown; Pages counts blocks.
	Rows, Bytes, Pages int64
	Owner              string
	CanSelect, CanOwn  bool
}

// chunks estimates the number of snapshot chunks of size rows.
func (t *tableInfo) chunks(size int) int {
	if t.Rows < 0 {
		return len(t.Leaves)
	}
	return max(len(t.Leaves), int((t.Rows+int64(size)-1)/int64(size)))
}

// notes are limits of the table, for people.
func (t *tableInfo) notes() []string {
	var out []string
	if !t.Schema.HasKey() {
		out = append(out, "no primary key: written as a changelog; its snapshot starts again after a crash")
	}
	for _, name := range t.Unlogged {
		out = append(out, "partition "+name+" is foreign or unlogged: its rows are not captured")
	}
	if t.InsertOnly {
		out = append(out, "no replica identity: only INSERT and TRUNCATE are captured; for the rest: ALTER TABLE "+quoteTable(t.Schema.ID)+" REPLICA IDENTITY FULL")
	}
	return out
}

// The captured kinds are ordinary and partitioned tables that stay in the log;
// a partition belongs to its root.
const tablesQuery = `SELECT c.oid, n.nspname, c.relname, c.relkind, c.relreplident, c.relispartition, c.reltuples, c.reltoastrelid <> 0,
	coalesce(obj_description(c.oid, 'pg_class'), ''), pg_get_userbyid(c.relowner),
	coalesce(has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'), false), pg_has_role(c.relowner, 'USAGE'),
	coalesce((SELECT p.inhparent FROM pg_catalog.pg_inherits p WHERE p.inhrelid = c.oid AND c.relispartition), 0)
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
	ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"`

type classRow struct {
	oid                         uint32
	schema, name                string
	kind, identity              rune
	partition, toast            bool
	rows                        float64
	comment, owner              string
	canSelect, canOwn, captured bool
	parent                      uint32
}

// discover returns the captured tables, ordered by schema and name.
func discover(ctx context.Context, conn *pgx.Conn, cfg *config) ([]tableInfo, error) {
	return inspect(ctx, conn, cfg, true)
}

// inspect is discover with or without the tables' sizes, which the server has to
// ask its file system for.
func inspect(ctx context.Context, conn *pgx.Conn, cfg *config, sizes bool) ([]tableInfo, error) {
	classes, err := listClasses(ctx, conn, cfg)
	if err != nil {
		return nil, err
	}
	var oids []uint32
	for _, c := range classes {
		if c.captured {
			oids = append(oids, c.oid)
		}
	}
	if len(oids) == 0 {
		return nil, withHint(fmt.Errorf("%w %q in database %q", ErrNoTables, cfg.pattern, cfg.database), "check tables and tables.exclude: database.schema.table, dots of a regular expression escaped (\\.)")
	}
	definitions, err := readColumns(ctx, conn, oids, cfg)
	if err != nil {
		return nil, err
	}
	leaves, err := readLeaves(ctx, conn, oids, sizes)
	if err != nil {
		return nil, err
	}
	var out []tableInfo
	for _, c := range classes {
		if !c.captured {
			continue
		}
		d, ok := definitions[c.oid]
		if !ok {
			return nil, fmt.Errorf("table %s.%s vanished while it was looked at", c.schema, c.name)
		}
		out = append(out, newTableInfo(c, d, leaves[c.oid], cfg))
	}
	return out, nil
}

func listClasses(ctx context.Context, conn *pgx.Conn, cfg *config) ([]*classRow, error) {
	rows, err := conn.Query(ctx, tablesQuery)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	var classes []*classRow
	var r classRow
	_, err = pgx.ForEachRow(rows, []any{&r.oid, &r.schema, &r.name, &r.kind, &r.identity, &r.partition, &r.rows, &r.toast, &r.comment,
		&r.owner, &r.canSelect, &r.canOwn, &r.parent}, func() error {
		c := r
		c.captured = cfg.match(schema.TableID{Namespace: cfg.database, Schema: c.schema, Table: c.name})
		classes = append(classes, &c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	dropPartitions(classes)
	return classes, nil
}

// dropPartitions leaves out each partition that has a captured ancestor.
func dropPartitions(classes []*classRow) {
	byOID := map[uint32]*classRow{}
	for _, c := range classes {
		byOID[c.oid] = c
	}
	covered := func(c *classRow) bool {
		for p := byOID[c.parent]; p != nil; p = byOID[p.parent] {
			if p.captured {
				return true
			}
		}
		return false
	}
	var inner []*classRow
	for _, c := range classes {
		if c.partition && c.captured && covered(c) {
			inner = append(inner, c)
		}
	}
	for _, c := range inner {
		c.captured = false
	}
}

func newTableInfo(c *classRow, d *definition, leaves []leaf, cfg *config) tableInfo {
	t := tableInfo{Kind: byte(c.kind), Leaves: logged(leaves), Owner: c.owner, CanSelect: c.canSelect, CanOwn: c.canOwn}
	t.Identity = identityOf(byte(c.identity), t.Leaves)
	for _, l := range leaves {
		if !l.Logged {
			t.Unlogged = append(t.Unlogged, l.name())
		}
	}
	id := cfg.tableID(c.schema, c.name)
	toast := c.toast || c.kind == 'p'
	t.Schema = &schema.Table{ID: id, Columns: d.columns, PrimaryKey: d.key(t.Identity), Comment: c.comment, Version: 1, SourceID: uint64(c.oid),
		OmitsUnchanged: toast && t.Identity != 'f' && d.hasVarlena}
	t.InsertOnly = t.Identity == 'n' || t.Identity == 'd' && (len(d.primary) == 0 || d.deferrable) || t.Identity == 'i' && len(d.identity) == 0
	if t.InsertOnly {
		t.Schema.OmitsUnchanged = false
	}
	if !t.Schema.HasKey() {
		t.Schema.UniqueKey = d.unique
	}
	for _, l := range t.Leaves {
		t.Pages, t.Bytes = t.Pages+l.Pages, t.Bytes+l.Bytes
		if l.Rows >= 0 && t.Rows >= 0 {
			t.Rows += int64(l.Rows)
		} else if l.Pages > 0 {
			t.Rows = -1
		}
	}
	return t
}

// tableID names a table as the pipeline knows it.
func (c *config) tableID(namespace, name string) schema.TableID {
	id := schema.TableID{Schema: namespace, Table: name}
	if c.withDB {
		id.Namespace = c.database
	}
	return id
}

// definition is what pg_attribute and pg_index say of a table.
type definition struct {
	columns    []schema.Column
	attributes []attribute
	primary    []string // the primary key
	identity   []string // the index of REPLICA IDENTITY USING INDEX
	unique     []string // the first unique index without NULL
	deferrable bool     // the primary key is deferrable, hence no replica identity
	hasVarlena bool
}

// key returns the columns that tell rows apart in the log: those of the
// replica identity's index where there is one, since a delete carries nothing else.
func (d *definition) key(identity byte) []string {
	if identity == 'i' && len(d.identity) > 0 {
		return d.identity
	}
	return d.primary
}

// attribute is one row of pg_attribute, dropped ones included.
type attribute struct {
	Num       int
	Name      string
	Dropped   bool
	Generated bool
	Type      uint32
	Mod       int32
	Dims      int
	NotNull   bool
	Varlena   bool
	Identity  bool // GENERATED ... AS IDENTITY
	// Missing is set when a default fills the rows from before the column was added.
	Missing bool
	Default *string
	Comment string
}

// A NOT NULL that was not validated (PostgreSQL 18) holds for new rows alone.
const attributesQuery = `SELECT a.attrelid, a.attnum, a.attname, a.attisdropped, a.attgenerated <> '', a.atttypid, a.atttypmod, a.attndims,
	a.attnotnull AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint n WHERE n.conrelid = a.attrelid AND n.contype = 'n' AND n.conkey[1] = a.attnum AND NOT n.convalidated), a.attlen = -1,
	a.attidentity <> '', a.atthasmissing, pg_get_expr(d.adbin, d.adrelid), coalesce(col_description(a.attrelid, a.attnum), '')
	FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = any($1) AND a.attnum > 0 ORDER BY a.attrelid, a.attnum`

// An index that is no key of either kind is one whose columns are never NULL.
const keysQuery = `SELECT i.indrelid, i.indisprimary, i.indisreplident, i.indimmediate,
	ARRAY(SELECT a.attname::text FROM unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY k(num, ord)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num ORDER BY k.ord)
	FROM pg_catalog.pg_index i WHERE i.indrelid = any($1) AND i.indisvalid AND (i.indisprimary OR i.indisreplident OR i.indisunique AND i.indpred IS NULL
		AND NOT EXISTS (SELECT FROM unnest(i.indkey[0:i.indnkeyatts - 1]) u(num) WHERE NOT EXISTS
			(SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = u.num AND a.attnotnull)))
	ORDER BY i.indrelid, i.indexrelid`

// readColumns reads the definitions of tables by oid.
func readColumns(ctx context.Context, conn *pgx.Conn, oids []uint32, cfg *config) (map[uint32]*definition, error) {
	rows, err := conn.Query(ctx, attributesQuery, oids)
	if err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	out := map[uint32]*definition{}
	var rel uint32
	var a attribute
	var types []uint32
	_, err = pgx.ForEachRow(rows, []any{&rel, &a.Num, &a.Name, &a.Dropped, &a.Generated, &a.Type, &a.Mod, &a.Dims, &a.NotNull, &a.Varlena,
		&a.Identity, &a.Missing, &a.Default, &a.Comment}, func() error {
		d := out[rel]
		if d == nil {
			d = &definition{}
			out[rel] = d
		}
		d.attributes = append(d.attributes, a)
		types = append(types, a.Type)
		a.Default = nil
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	catalog := typeCatalog{}
	if err := catalog.load(ctx, conn, types); err != nil {
		return nil, err
	}
	for _, d := range out {
		d.fill(catalog, cfg)
	}
	return out, readKeys(ctx, conn, oids, out)
}

// fill makes the columns. Generated columns do not come in the log (before
// PostgreSQL 18, and unless asked for after it), so they are left out everywhere.
func (d *definition) fill(catalog typeCatalog, cfg *config) {
	for _, a := range d.attributes {
		if a.Dropped || a.Generated {
			continue
		}
		d.columns = append(d.columns, a.column(catalog, cfg.text))
		d.hasVarlena = d.hasVarlena || a.Varlena
	}
}

func (a attribute) column(catalog typeCatalog, o textOptions) schema.Column {
	typ, src := catalog.column(a.Type, a.Mod, a.Dims, o)
	return schema.Column{Name: a.Name, Type: typ, Nullable: !a.NotNull, Comment: a.Comment, Default: a.Default, Source: src, Ordinal: a.Num}
}

func readKeys(ctx context.Context, conn *pgx.Conn, oids []uint32, out map[uint32]*definition) error {
	rows, err := conn.Query(ctx, keysQuery, oids)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	var rel uint32
	var primary, identity, immediate bool
	var names []string
	_, err = pgx.ForEachRow(rows, []any{&rel, &primary, &identity, &immediate, &names}, func() error {
		if d := out[rel]; d != nil {
			if primary {
				d.primary, d.deferrable = slices.Clone(names), !immediate
			}
			if identity {
				d.identity = slices.Clone(names)
			}
			if !primary && d.unique == nil {
				d.unique = slices.Clone(names)
			}
		}
		names = nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	return nil
}
