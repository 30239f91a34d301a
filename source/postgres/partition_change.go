package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// leafState is what a checkpoint keeps of a partition: which table it is, since
// when it belongs to its root, and which file holds its rows.
type leafState struct {
	OID      uint32 `json:"oid"`
	Schema   string `json:"schema"`
	Name     string `json:"name"`
	Link     string `json:"link"`
	FileNode uint32 `json:"fileNode"`
}

// sql quotes the partition's name.
func (l leafState) sql() string { return quoteIdent(l.Schema) + "." + quoteIdent(l.Name) }

// leafNames lists partitions for people.
func leafNames(leaves []leafState) string {
	names := make([]string, len(leaves))
	for i, l := range leaves {
		names[i] = l.Schema + "." + l.Name
	}
	return strings.Join(names, ", ")
}

// partitionsFollowed is the first server whose log follows ATTACH and DETACH. Before
// it, what one connection has met once as a partition, or as none, stays that to
// its end: changes are left out, or go on to come.
const partitionsFollowed = 150000

// leafTree is the partitions of a table as they were at one moment. Its windows
// and its target rely on them: rows that come and go with a partition have no
// events, and neither has TRUNCATE of a partition.
type leafTree struct {
	Leaves []leafState `json:"leaves"`
	// Xmin: the transactions below it had ended then.
	Xmin uint64 `json:"xmin"`
}

// treeOf returns the tree of a partitioned table, nil for others.
func treeOf(t *tableInfo, xmin uint64) *leafTree {
	if t.Kind != 'p' {
		return nil
	}
	tree := &leafTree{Leaves: make([]leafState, len(t.Leaves)), Xmin: xmin}
	for i, l := range t.Leaves {
		tree.Leaves[i] = leafState{OID: l.OID, Schema: l.Schema, Name: l.Name, Link: l.Link, FileNode: l.FileNode}
	}
	return tree
}

// treeChange is what differs between two trees. A partition that was detached and
// attached again is in both lists, since its rows may have changed meanwhile.
type treeChange struct {
	attached, detached []leafState
	// rewritten have another file: TRUNCATE or VACUUM FULL, CLUSTER and the like.
	rewritten []leafState
}

func (c treeChange) none() bool { return len(c.attached)+len(c.detached)+len(c.rewritten) == 0 }

// diffTrees compares the trees of a table.
func diffTrees(old, now *leafTree) treeChange {
	type identity struct {
		oid  uint32
		link string
	}
	was := make(map[identity]leafState, len(old.Leaves))
	for _, l := range old.Leaves {
		was[identity{l.OID, l.Link}] = l
	}
	var c treeChange
	for _, l := range now.Leaves {
		o, there := was[identity{l.OID, l.Link}]
		switch {
		case !there:
			c.attached = append(c.attached, l)
		case o.FileNode != l.FileNode:
			c.rewritten = append(c.rewritten, l)
		}
		delete(was, identity{l.OID, l.Link})
	}
	for _, l := range old.Leaves {
		if _, gone := was[identity{l.OID, l.Link}]; gone {
			c.detached = append(c.detached, l)
		}
	}
	return c
}

// explain takes out of c what demonstrably left the rows alone: partitions that
// were born as such, or have no row, and files behind which rows from before old
// live on. What cannot be shown stays.
func (c treeChange) explain(ctx context.Context, conn *pgx.Conn, old *leafTree) (treeChange, error) {
	rest := treeChange{detached: c.detached}
	for _, l := range c.attached {
		harmless, err := broughtNothing(ctx, conn, old, l)
		if err != nil {
			return c, err
		}
		if !harmless {
			rest.attached = append(rest.attached, l)
		}
	}
	for _, l := range c.rewritten {
		kept, err := keptRows(ctx, conn, old.Xmin, l)
		if err != nil {
			return c, err
		}
		if !kept {
			rest.rewritten = append(rest.rewritten, l)
		}
	}
	return rest, nil
}

// bornQuery walks from a partition up. A table that was created as a partition has a
// column that is not its own and was not touched since the table's creation, which
// the row of a system column dates; ATTACH touches every column.
const bornQuery = `WITH RECURSIVE up(oid, depth, link, born) AS (
	SELECT $1::oid, 0, '', true
	UNION ALL SELECT i.inhparent, up.depth + 1, i.xmin::text, EXISTS (SELECT FROM pg_catalog.pg_attribute a
			JOIN pg_catalog.pg_attribute s ON s.attrelid = a.attrelid AND s.attname = 'tableoid' AND s.attnum < 0
			WHERE a.attrelid = i.inhrelid AND a.attnum > 0 AND NOT a.attislocal AND a.xmax = 0 AND s.xmax = 0 AND a.xmin = s.xmin AND a.cmin = s.cmin AND i.xmin = s.xmin)
		FROM up JOIN pg_catalog.pg_inherits i ON i.inhrelid = up.oid)
	SELECT link, born FROM up WHERE depth > 0 ORDER BY depth DESC`

// broughtNothing reports whether a partition that is new had no row, or none that
// the log does not show, when it was attached.
func broughtNothing(ctx context.Context, conn *pgx.Conn, old *leafTree, l leafState) (bool, error) {
	if serverVersion(conn.PgConn()) >= partitionsFollowed {
		empty, err := ask(ctx, conn, fmt.Sprintf("SELECT NOT EXISTS (SELECT FROM ONLY %s)", l.sql()))
		if empty || err != nil {
			return empty, err
		}
	} else { // never a row since it was created, so that the log has not met it
		never, err := ask(ctx, conn, "SELECT pg_relation_size(oid) = 0 AND relfilenode = oid FROM pg_catalog.pg_class WHERE oid = $1", l.OID)
		if never || err != nil {
			return never, err
		}
	}
	rows, err := conn.Query(ctx, bornQuery, l.OID)
	if err != nil {
		return false, fmt.Errorf("look at partition %s: %w", l.sql(), err)
	}
	var links []string
	var born []bool
	var link string
	var b bool
	if _, err = pgx.ForEachRow(rows, []any{&link, &b}, func() error { links, born = append(links, link), append(born, b); return nil }); err != nil {
		return false, fmt.Errorf("look at partition %s: %w", l.sql(), err)
	}
	// The root itself may be a partition of a table that is not captured.
	depth := len(strings.Fields(l.Link))
	if depth > len(links) {
		return false, nil
	}
	links, born = links[len(links)-depth:], born[len(born)-depth:]
	path := ""
	for i := range links {
		path += links[i] + " "
		if !born[i] && !old.knows(path) {
			return false, nil
		}
	}
	return path == l.Link, nil
}

// knows reports whether a partition of the tree lies below path.
func (t *leafTree) knows(path string) bool {
	return slices.ContainsFunc(t.Leaves, func(l leafState) bool { return strings.HasPrefix(l.Link, path) && l.Link != path })
}

// keptRows reports whether a row of a partition is older than the transactions that
// had ended when it was last looked at: then no TRUNCATE came between. A row
// whose number lies in the future was frozen billions of transactions ago.
func keptRows(ctx context.Context, conn *pgx.Conn, xmin uint64, l leafState) (bool, error) {
	return ask(ctx, conn, fmt.Sprintf("SELECT EXISTS (SELECT FROM ONLY %s WHERE age(xmin) > age('%d'::xid) OR age(xmin) < 0)", l.sql(), uint32(xmin)))
}

// ask asks a question about a partition; one that is gone answers no.
func ask(ctx context.Context, conn *pgx.Conn, sql string, args ...any) (yes bool, err error) {
	err = conn.QueryRow(ctx, sql, args...).Scan(&yes)
	var pe *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &pe) && (pe.Code == "42P01" || pe.Code == "3F000") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at a partition: %w", err)
	}
	return yes, nil
}
