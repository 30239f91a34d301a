package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cdc/freshet/schema"
)

// ErrServerShutdown ends a stream whose server is being stopped.
var ErrServerShutdown = errors.New("the server is shutting down")

// watch holds an idle SQL session beside the stream, for what the log itself
// does not say.
//
// A server that is stopped ends SQL sessions at once, but waits for its
// replication clients until they have confirmed everything, which we can't do
// before the next checkpoint: so the stream ends too. A table that was
// dropped or taken out of the publication just stops sending. And partitions come
// and go, comments change and identities are lost without a word.
type watch struct {
	log    *logStream
	cfg    *config
	infos  []tableInfo
	logger *slog.Logger
	warned map[schema.TableID]bool
	silent time.Time // when a lost session was warned of last
}

// watchRetry is the pause after a lost session.
const watchRetry = 5 * time.Second

func (w *watch) run(ctx context.Context) {
	defer w.log.wg.Done()
	w.warned = map[schema.TableID]bool{}
	for ctx.Err() == nil {
		err := w.session(ctx)
		var pe *pgconn.PgError
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &pe) && pe.Code == "57P01": // ended by a shutdown, or by pg_terminate_backend
			if w.shutsDown(ctx) {
				w.log.fail(fmt.Errorf("%w: %s", ErrServerShutdown, pe.Message))
				return
			}
		case errors.Is(err, ErrPublication) || errors.Is(err, ErrSchemaChange):
			w.log.fail(err)
			return
		case time.Since(w.silent) > time.Minute:
			w.silent = time.Now()
			w.logger.Warn("the session that looks at the catalogue was lost; it is opened again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchRetry):
		}
	}
}

// session looks at the tables when asked to, and now and then, until something happens.
func (w *watch) session(ctx context.Context) error {
	conn, err := w.cfg.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	const share = 20 // of the time, at most, goes into looking
	for {
		begin := time.Now()
		if err := inSnapshot(ctx, conn, func() error { return w.tables(ctx, conn) }); err != nil {
			return err
		}
		if err := w.report(ctx, conn); err != nil {
			return err
		}
		if err := w.wait(ctx, conn, max(w.cfg.heartbeat, time.Second, share*time.Since(begin))); err != nil {
			return err
		}
	}
}

// wait returns after a while, or when somebody wants a report. It reads from the
// session, so that it notices its end.
func (w *watch) wait(ctx context.Context, conn *pgx.Conn, every time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		select {
		case <-wait.Done():
		case <-w.log.reports.look:
			cancel()
		}
	}()
	_, err := conn.WaitForNotification(wait)
	cancel()
	<-woken
	if err != nil && (ctx.Err() != nil || conn.IsClosed()) { // the end of the wait leaves the session open
		return err
	}
	return nil
}

// report hands a report of the catalogue to the stream.
func (w *watch) report(ctx context.Context, conn *pgx.Conn) error {
	ticket := w.log.reports.wanted.Load()
	report, infos, err := readCatalogue(ctx, conn, w.cfg, false)
	if errors.Is(err, ErrNoTables) {
		report, infos, err = &catalogueReport{}, nil, nil // all were dropped, of which tables has warned
	}
	if err != nil {
		return err
	}
	if err := w.identities(ctx, conn, report, infos); err != nil {
		return err
	}
	w.tell(report)
	report.ticket = ticket
	w.log.reports.put(report)
	w.log.RequestKeepalive()
	return nil
}

// tell tells people, once each, of tables that are captured by another start only.
func (w *watch) tell(report *catalogueReport) {
	captured := map[uint32]bool{}
	for _, i := range w.infos {
		oid := uint32(i.Schema.SourceID)
		captured[oid] = true
		if report.tables[oid] == nil && !w.warned[i.Schema.ID] {
			w.warned[i.Schema.ID] = true
			w.logger.Warn("a captured table has become a partition of another one, to whose rows its changes belong now; what was captured of it stays", "table", i.Schema.ID.String())
		}
	}
	for oid, i := range report.tables {
		if !captured[oid] && !w.warned[i.Schema.ID] {
			w.warned[i.Schema.ID] = true
			w.logger.Info("a new table will be captured from the next start on", "table", i.Schema.ID.String())
		}
	}
}

// identities looks for tables that can't be changed any more by the application,
// since they are published and have no replica identity.
func (w *watch) identities(ctx context.Context, conn *pgx.Conn, report *catalogueReport, infos []tableInfo) error {
	for _, i := range w.infos {
		now := report.tables[uint32(i.Schema.SourceID)]
		if now == nil || !now.InsertOnly || i.InsertOnly {
			continue
		}
		if err := w.cfg.leaveInserts(ctx, conn, infos); err != nil {
			w.logger.Error("the application can't update or delete rows of a published table, and it can't be taken out of the publication", "table", i.Schema.ID.String(), "error", err)
		}
		return &SchemaChangeError{Table: i.Schema.ID, Position: report.high, What: "it has lost its replica identity, or has a partition without one, so UPDATE and DELETE fail at the application while it is published",
			Hint: fmt.Sprintf("give it a primary key, or ALTER TABLE %s REPLICA IDENTITY FULL (each partition for itself), and start again", quoteTable(i.Schema.ID))}
	}
	return nil
}

// shutsDown reports whether the server turns new sessions away because it stops.
func (w *watch) shutsDown(ctx context.Context) bool {
	conn, err := w.cfg.connect(ctx)
	if err == nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return false
	}
	return ctx.Err() == nil
}

const relationsQuery = `SELECT t.ord, EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = t.oid),
	EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = t.space AND c.relname = t.name AND c.oid <> t.oid)
	FROM unnest($1::oid[], $2::text[], $3::text[]) WITH ORDINALITY t(oid, space, name, ord)`

// tables checks that the captured tables are there and published.
func (w *watch) tables(ctx context.Context, conn *pgx.Conn) error {
	var oids []uint32
	var spaces, names []string
	for _, i := range w.infos {
		oids, spaces, names = append(oids, uint32(i.Schema.SourceID)), append(spaces, i.Schema.ID.Schema), append(names, i.Schema.ID.Table)
	}
	rows, err := conn.Query(ctx, relationsQuery, oids, spaces, names)
	if err != nil {
		return err
	}
	var ord int
	var there, other bool
	gone := map[schema.TableID]bool{}
	_, err = pgx.ForEachRow(rows, []any{&ord, &there, &other}, func() error {
		id := w.infos[ord-1].Schema.ID
		gone[id] = !there
		if !there && other {
			return tableRemade(id, w.log.Server())
		}
		if !there && !w.warned[id] {
			w.warned[id] = true
			w.logger.Warn("a captured table was dropped; what was captured of it stays", "table", id.String())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.published(ctx, conn, gone)
}

func (w *watch) published(ctx context.Context, conn *pgx.Conn, gone map[schema.TableID]bool) error {
	for _, need := range w.cfg.publicationNeeds(w.infos) {
		p, err := readPublication(ctx, conn, need.name)
		if err != nil {
			return err
		}
		missing := slices.DeleteFunc(p.missing(need), func(t tableInfo) bool { return gone[t.Schema.ID] })
		if len(missing) > 0 {
			return &PublicationError{Publication: need.name, Problem: "it no longer publishes " + tableNames(missing),
				Hint: "changes since then are not in the log: exclude these tables, or drop their target tables and start with an empty checkpoint directory and another slot"}
		}
	}
	return nil
}

// tableRemade is the error for a table that was dropped and created again.
func tableRemade(id schema.TableID, pos uint64) error {
	return &SchemaChangeError{Table: id, Position: pos, What: "the table was dropped and created again",
		Hint: "start a new pipeline for it, or drop the target table and start with an empty checkpoint directory and another slot"}
}
