package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/window"
)

// planTable looks at the present files of a table. Everything that must be read
// has to be visible already (cover).
func planTable(ctx context.Context, conn *pgx.Conn, t *schema.Table, chunkRows int) (*plan, error) {
	var name, schemaName string
	const identity = "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1"
	err := conn.QueryRow(ctx, identity, pgx.QueryExecModeExec, uint32(t.SourceID)).Scan(&schemaName, &name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, withHint(fmt.Errorf("table %s was dropped while its snapshot ran", t.ID), "start again: a table that no longer exists is left out")
	}
	if err != nil {
		return nil, fmt.Errorf("planning the snapshot of %s: %w", t.ID, err)
	}
	if schemaName != t.ID.Schema || name != t.ID.Table {
		return nil, withHint(fmt.Errorf("table %s was renamed to %s.%s while its snapshot ran", t.ID, schemaName, name), "name it in tables, or rename it back, and start again")
	}
	leaves, err := readLeaves(ctx, conn, []uint32{uint32(t.SourceID)}, true)
	if err != nil {
		return nil, fmt.Errorf("planning the snapshot of %s: %w", t.ID, err)
	}
	p := &plan{}
	for _, l := range logged(leaves[uint32(t.SourceID)]) {
		if l.BlockSize == 0 { // dropped between two questions
			continue
		}
		p.Leaves = append(p.Leaves, leafPlan{OID: l.OID, Schema: l.Schema, Name: l.Name, FileNode: l.FileNode, Blocks: l.Pages,
			Width: width(chunkRows, l.EstimatedPages, l.Rows, l.BlockSize), Toast: l.Toast})
	}
	return p, nil
}

// visibleNow returns what a new SELECT sees.
func visibleNow(ctx context.Context, conn *pgx.Conn) (window.Snapshot, error) {
	var text string
	if err := conn.QueryRow(ctx, "SELECT pg_current_snapshot()::text", pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		return window.Snapshot{}, fmt.Errorf("asking what is visible: %w", err)
	}
	return window.ParseSnapshot(text)
}

// importedSnapshot returns what an exported snapshot sees.
func importedSnapshot(ctx context.Context, conn *pgx.Conn, name string) (window.Snapshot, error) {
	sql := "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET TRANSACTION SNAPSHOT " + quoteLiteral(name) + "; SELECT pg_current_snapshot()::text; COMMIT"
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return window.Snapshot{}, fmt.Errorf("looking at the slot's snapshot: %w", err)
	}
	return window.ParseSnapshot(string(results[2].Rows[0][0]))
}

// heldSnapshot is the one snapshot of a table without a key.
type heldSnapshot struct {
	conn *pgx.Conn
	name string
	sees window.Snapshot
	high uint64
}

// openSnapshot exports a new snapshot over conn, which then holds it.
func openSnapshot(ctx context.Context, conn *pgx.Conn) (*heldSnapshot, error) {
	sql := "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT pg_current_snapshot()::text, pg_export_snapshot(), pg_current_wal_insert_lsn()::text"
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("opening a snapshot: %w", err)
	}
	row := results[2].Rows[0]
	sees, err := window.ParseSnapshot(string(row[0]))
	if err != nil {
		return nil, err
	}
	high, err := pglogrepl.ParseLSN(string(row[2]))
	if err != nil {
		return nil, err
	}
	return &heldSnapshot{conn: conn, name: string(row[1]), sees: sees, high: uint64(high)}, nil
}

// nudge writes one commit record without touching any table, so that a server
// that is idle flushes its log and the tail gets past what was inserted.
func nudge(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, "SELECT pg_current_xact_id()").ReadAll()
	if err != nil {
		return fmt.Errorf("moving the log of an idle server: %w", err)
	}
	return nil
}

// catalogueChanges returns the changes from old to what the catalogue has now.
// They must be asked for behind the position at which they were made, for then
// the log shows no older definition any more.
func catalogueChanges(ctx context.Context, conn *pgx.Conn, cfg *config, old *schema.Table, pos uint64) ([]*schema.Change, error) {
	now, err := currentDefinition(ctx, conn, cfg, old)
	if err != nil || sameRows(old, now) {
		return nil, err
	}
	if !slices.Equal(old.PrimaryKey, now.PrimaryKey) {
		return nil, keyChanged(old, pos)
	}
	resolver := &relationResolver{cfg: cfg}
	defer resolver.close()
	return resolver.changes(old, announce(now), pos)
}

// currentDefinition returns what the catalogue now has for the table old.
func currentDefinition(ctx context.Context, conn *pgx.Conn, cfg *config, old *schema.Table) (*schema.Table, error) {
	infos, err := discover(ctx, conn, cfg)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.Schema.ID == old.ID && info.Schema.SourceID == old.SourceID {
			return info.Schema, nil
		}
	}
	return nil, withHint(fmt.Errorf("table %s was dropped or renamed while its snapshot ran", old.ID), "start again: a table that no longer exists is left out")
}
