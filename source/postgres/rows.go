package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pglogrepl"

	"github.com/freshet-cdc/freshet/schema"
)

// Rows implements source.Source: one COPY of the table in one transaction. The
// position is the server's after the transaction's snapshot was opened, so the
// log up to it holds everything that the COPY shows.
func (s *Source) Rows(ctx context.Context, t *schema.Table, fn func(*schema.Batch) error) (uint64, error) {
	conn, err := s.cfg.bulk().connect(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	results, err := conn.PgConn().Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT pg_current_wal_insert_lsn()::text, "+
		"coalesce((SELECT relkind FROM pg_class WHERE oid = to_regclass("+quoteLiteral(quoteTable(t.ID))+")), '-')").ReadAll()
	if err != nil {
		return 0, fmt.Errorf("reading table %s: %w", t.ID, err)
	}
	row := results[1].Rows[0]
	high, err := pglogrepl.ParseLSN(string(row[0]))
	if err != nil {
		return 0, err
	}
	only := "ONLY "
	switch string(row[1]) {
	case "-":
		return 0, fmt.Errorf("%w: %s does not exist", ErrNoTables, t.ID)
	case "p":
		only = "" // a partitioned table has no rows of its own
	}
	now := time.Now().UnixMicro()
	d := newCopyDecoder(memory.DefaultAllocator, t, s.cfg.copyOptions(t), func(rec arrow.RecordBatch) error {
		b := schema.NewBatch(t, rec)
		defer b.Release()
		b.Txs = []schema.Tx{{Commit: uint64(high), CommitTime: now, Rows: int(rec.NumRows())}}
		return fn(b)
	})
	defer d.Release()
	var sql strings.Builder
	sql.WriteString("COPY (SELECT ")
	writeColumns(&sql, t)
	sql.WriteString(" FROM " + only + quoteTable(t.ID) + ") TO STDOUT (FORMAT binary)")
	if _, err := conn.PgConn().CopyTo(ctx, d, sql.String()); err != nil {
		return 0, fmt.Errorf("reading table %s: %w", t.ID, err)
	}
	return uint64(high), d.Close()
}

// copyOptions returns how a COPY of t is decoded.
func (c *config) copyOptions(t *schema.Table) copyOptions {
	return copyOptions{MaxRows: copyRows, MaxBytes: copyBytes, SpecialNull: c.text.SpecialNull,
		Text: func(col int, b array.Builder) func([]byte) error { return textAppender(t.Columns[col], b, c.text) }}
}
