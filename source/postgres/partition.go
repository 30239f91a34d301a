package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// leaf is what holds rows of a captured table: a partition without partitions of
// its own, or the table itself. It is read with ONLY.
type leaf struct {
	OID          uint32
	Schema, Name string
	FileNode     uint32
	// Link names the transactions that attached the leaf, and the tables between,
	// to the captured table. One that was detached and attached again has another.
	Link string
	// Identity is relreplident: default, full, index or nothing; Columns are those
	// of the index that it stands for.
	Identity byte
	Columns  []string
	// Logged: the changes of its rows are in the log. Foreign and unlogged tables are
	// not captured.
	Logged bool

	// What the file system and the statistics say of it; only where sizes were asked for.
	Pages, Bytes, EstimatedPages int64
	Rows                         float64
	BlockSize                    int64
	Toast                        bool
}

// name prints the leaf for people.
func (l leaf) name() string { return l.Schema + "." + l.Name }

// A partition that is being detached concurrently does not belong to its root any
// more, for SELECT as for the log.
const leavesQuery = `WITH RECURSIVE tree(root, oid, kind, link) AS (
	SELECT oid, oid, relkind, '' FROM pg_catalog.pg_class WHERE oid = any($1)
	UNION ALL SELECT tree.root, c.oid, c.relkind, tree.link || i.xmin || ' ' FROM tree
		JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid AND NOT i.inhdetachpending
		JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid WHERE tree.kind = 'p')
	SELECT tree.root, c.oid, n.nspname, c.relname, c.relfilenode, tree.link, c.relreplident, c.relkind = 'r' AND c.relpersistence = 'p',
		ARRAY(SELECT a.attname::text FROM pg_catalog.pg_index x JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = any(x.indkey[0:x.indnkeyatts - 1])
			WHERE x.indrelid = c.oid AND x.indisvalid AND (c.relreplident = 'd' AND x.indisprimary AND x.indimmediate OR c.relreplident = 'i' AND x.indisreplident))
	FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'f') ORDER BY tree.root, n.nspname COLLATE "C", c.relname COLLATE "C"`

// A table that was dropped since has no size.
const leafSizesQuery = `SELECT c.oid, coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::int8, coalesce(pg_table_size(c.oid), 0), c.relpages::int8, c.reltuples::float8,
	current_setting('block_size')::int8, coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) > 0
	FROM pg_catalog.pg_class c WHERE c.oid = any($1) AND c.relkind = 'r'`

// readLeaves returns what holds the rows of each table, ordered by name.
func readLeaves(ctx context.Context, conn *pgx.Conn, oids []uint32, sizes bool) (map[uint32][]leaf, error) {
	rows, err := conn.Query(ctx, leavesQuery, oids)
	if err != nil {
		return nil, fmt.Errorf("read partitions: %w", err)
	}
	out := map[uint32][]leaf{}
	var root uint32
	var l leaf
	var identity rune
	_, err = pgx.ForEachRow(rows, []any{&root, &l.OID, &l.Schema, &l.Name, &l.FileNode, &l.Link, &identity, &l.Logged, &l.Columns}, func() error {
		l.Identity = byte(identity)
		out[root] = append(out[root], l)
		l.Columns = nil
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read partitions: %w", err)
	}
	if !sizes {
		return out, nil
	}
	return out, readSizes(ctx, conn, out)
}

func readSizes(ctx context.Context, conn *pgx.Conn, leaves map[uint32][]leaf) error {
	places := map[uint32]*leaf{}
	var oids []uint32
	for _, list := range leaves {
		for i := range list {
			places[list[i].OID] = &list[i]
			oids = append(oids, list[i].OID)
		}
	}
	rows, err := conn.Query(ctx, leafSizesQuery, oids)
	if err != nil {
		return fmt.Errorf("read sizes: %w", err)
	}
	var oid uint32
	var s leaf
	_, err = pgx.ForEachRow(rows, []any{&oid, &s.Pages, &s.Bytes, &s.EstimatedPages, &s.Rows, &s.BlockSize, &s.Toast}, func() error {
		l := places[oid]
		l.Pages, l.Bytes, l.EstimatedPages, l.Rows, l.BlockSize, l.Toast = s.Pages, s.Bytes, s.EstimatedPages, s.Rows, s.BlockSize, s.Toast
		return nil
	})
	if err != nil {
		return fmt.Errorf("read sizes: %w", err)
	}
	return nil
}

// logged returns the leaves whose rows are captured.
func logged(leaves []leaf) []leaf {
	return slices.DeleteFunc(slices.Clone(leaves), func(l leaf) bool { return !l.Logged })
}

// identityOf returns the replica identity that holds for every leaf: the old row
// is complete only where all of them log it, and a leaf without any fails the
// application's updates.
func identityOf(root byte, leaves []leaf) byte {
	for _, l := range leaves {
		switch {
		case l.Identity == 'n':
			return 'n'
		case root == 'f' && l.Identity != 'f':
			root = 'd'
		}
	}
	return root
}

// covers reports whether the old row that a relation logs has all columns of key.
func covers(identity byte, columns, key []string) bool {
	return identity == 'f' || !slices.ContainsFunc(key, func(k string) bool { return !slices.Contains(columns, k) })
}

// checkLeaves returns an IdentityError for the first partition whose updates and
// deletes don't carry the table's key: its rows could not be found in any target.
func (t *tableInfo) checkLeaves() error {
	if t.Kind != 'p' || t.InsertOnly || !t.Schema.HasKey() {
		return nil
	}
	for _, l := range t.Leaves {
		if !covers(l.Identity, l.Columns, t.Schema.PrimaryKey) {
			return &IdentityError{Table: t.Schema.ID, Partition: l.name(), Key: t.Schema.PrimaryKey, Logged: l.Columns}
		}
	}
	return nil
}

// identityHint is the statement that gives a partition the identity of its table.
func identityHint(partition string, key []string) string {
	return fmt.Sprintf("ALTER TABLE %s REPLICA IDENTITY DEFAULT, where its primary key has (%s), or USING INDEX on these columns, or FULL", partition, strings.Join(key, ", "))
}
