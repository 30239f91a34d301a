package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
)

// Rows implements source.Source: one SELECT in one read view. The position is the
// binlog's end after the view was opened, so the log up to it holds everything that
// the SELECT shows.
func (s *Source) Rows(ctx context.Context, t *schema.Table, fn func(*schema.Batch) error) (uint64, error) {
	conn, err := s.cfg.connect(ctx)
	if err != nil {
		return 0, err
	}
	srv, err := readServer(ctx, conn)
	_ = conn.Close()
	if err != nil {
		return 0, err
	}
	r := snapshot.NewReader(s.cfg.connect, snapshot.Settings{Values: s.cfg.valueOptions(srv)})
	defer r.Close()
	view, err := r.OpenView(ctx, t)
	if err != nil {
		return 0, fmt.Errorf("reading table %s: %w", t.ID, err)
	}
	defer view.Close()
	files, err := s.cfg.names.of(view.High.File)
	if err != nil {
		return 0, err
	}
	high, err := files.Position(binlog.Place{File: view.High.File, Offset: view.High.Offset})
	if err != nil {
		return 0, err
	}
	now := time.Now().UnixMicro()
	err = view.Read(ctx, func(rec arrow.RecordBatch) error {
		b := schema.NewBatch(t, rec)
		defer b.Release()
		b.Txs = []schema.Tx{{Commit: high, CommitTime: now, Rows: int(rec.NumRows())}}
		return fn(b)
	})
	if err != nil {
		return 0, fmt.Errorf("reading table %s: %w", t.ID, err)
	}
	return high, nil
}
