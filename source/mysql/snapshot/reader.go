package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Settings are what a Reader needs beside a connection.
type Settings struct {
	Values value.Options
	// Memory allocates the records; nil means Go's heap.
	Memory memory.Allocator
	// Retries is how often a read is tried again after an error that may pass, with
	// growing pauses. 0 means 5.
	Retries int
}

// Reader reads over one connection, which it opens when needed and again when it is
// lost. Its calls are made one after the other; several Readers work side by side.
type Reader struct {
	connect func(context.Context) (*wire.Conn, error)
	set     Settings
	conn    *wire.Conn
	dec     *decoder // of the last table, with its memory
}

// NewReader returns a Reader whose connections come from connect.
func NewReader(connect func(context.Context) (*wire.Conn, error), s Settings) *Reader {
	if s.Memory == nil {
		s.Memory = memory.DefaultAllocator
	}
	if s.Retries == 0 {
		s.Retries = 5
	}
	return &Reader{connect: connect, set: s}
}

// Close ends the connection.
func (r *Reader) Close() {
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
	r.forget()
}

// decoder returns the decoder of a table, kept from chunk to chunk.
func (r *Reader) decoder(t *schema.Table) *decoder {
	if r.dec == nil || r.dec.table != t {
		r.forget()
		r.dec = newDecoder(r.set.Memory, t, r.set.Values)
	}
	return r.dec
}

// forget gives up the decoder, with what it holds of a row that failed.
func (r *Reader) forget() {
	if r.dec != nil {
		r.dec.release()
		r.dec = nil
	}
}

// session makes sure that there is a connection, with what this package needs
// beyond the settings of every session: read views that last as long as their
// transaction; dates that do not exist as literals; no wait of a year for a table
// that somebody holds; statistics of now.
func (r *Reader) session(ctx context.Context) (*wire.Conn, error) {
	if r.conn != nil {
		return r.conn, nil
	}
	conn, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	set := "SET SESSION sql_mode = 'ALLOW_INVALID_DATES', SESSION lock_wait_timeout = 60"
	if conn.Flavor() == wire.MySQL {
		set += ", SESSION information_schema_stats_expiry = 0"
	}
	for _, sql := range []string{set, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"} {
		if err := conn.Exec(ctx, sql); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	r.conn = conn
	return conn, nil
}

// begin opens a transaction with a read view, over all tables.
const begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"

// status asks for the end of the binlog; MySQL 8.2 has renamed the statement.
func status(conn *wire.Conn) string {
	if conn.Flavor() == wire.MySQL && conn.Version().AtLeast(8, 2, 0) {
		return "SHOW BINARY LOG STATUS"
	}
	return "SHOW MASTER STATUS"
}

// end returns the place where the binlog ends.
func end(ctx context.Context, conn *wire.Conn) (Place, error) {
	res, err := conn.Query(ctx, status(conn))
	if err != nil {
		return Place{}, err
	}
	return statusPlace(res)
}

// retry does something until it succeeds, fails for good, or was tried often enough.
// After an error of the network the next attempt has a new connection.
func (r *Reader) retry(ctx context.Context, table schema.TableID, what string, do func(*wire.Conn) error) error {
	pause := 100 * time.Millisecond
	for attempt := 0; ; attempt++ {
		err := r.attempt(ctx, do)
		if err == nil {
			return nil
		}
		err = explain(table, what, err)
		if ctx.Err() != nil || !Retriable(err) || attempt >= r.set.Retries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// attempt does it once and leaves the connection outside a transaction, or closed.
func (r *Reader) attempt(ctx context.Context, do func(*wire.Conn) error) error {
	conn, err := r.session(ctx)
	if err != nil {
		return err
	}
	err = do(conn)
	if err != nil && conn.Exec(ctx, "ROLLBACK") != nil {
		r.Close()
	}
	return err
}

// errLarge says that so many rows were as much as fits, and the rest of the result too
// much to be read for nothing.
type errLarge struct{ rows int }

func (e errLarge) Error() string { return fmt.Sprintf("no more than %d rows fit", e.rows) }

// Read reads one range in a transaction of its own. Errors are in the Chunk.
func (r *Reader) Read(ctx context.Context, job Job) *Chunk {
	c := &Chunk{Job: job}
	if t := job.Table; len(t.Columns) == 0 || job.Key == nil || len(job.Key.Columns) == 0 {
		c.Err = &TableError{Table: t.ID, What: "read a range", Err: ErrNoKey}
		return c
	}
	limit, what := max(job.Rows, 1), "read rows "+job.Range.String()
	if job.Only != nil {
		limit, what = len(job.Only), "read rows by key"
	}
	c.Err = r.retry(ctx, job.Table.ID, what, func(conn *wire.Conn) error {
		for {
			err := r.readOnce(ctx, conn, c, limit)
			var large errLarge
			if !errors.As(err, &large) {
				return err
			}
			limit = large.rows
			if job.Only != nil {
				limit = max(1, limit/2)
			}
			r.Close()
			if conn, err = r.session(ctx); err != nil {
				return err
			}
		}
	})
	r.stale(ctx, c)
	return c
}

// stale gives a chunk whose table has changed a High behind the change.
func (r *Reader) stale(ctx context.Context, c *Chunk) {
	if !errors.Is(c.Err, ErrStale) {
		return
	}
	stale := c.Err
	err := r.retry(ctx, c.Job.Table.ID, "ask for the end of the binlog", func(conn *wire.Conn) (err error) {
		c.High, err = end(ctx, conn)
		return err
	})
	if c.Err = stale; err != nil {
		c.Err = err
	}
}

// readOnce reads the range with at most limit rows. After an error c holds no rows.
func (r *Reader) readOnce(ctx context.Context, conn *wire.Conn, c *Chunk, limit int) (err error) {
	c.Records, c.Rows, c.Bytes, c.Rest = nil, 0, 0, nil
	defer func() {
		if err != nil {
			c.Release()
			c.Rows, c.Bytes, c.Rest = 0, 0, nil
		}
	}()
	if err := conn.Exec(ctx, begin); err != nil {
		return err
	}
	c.ReadTime = time.Now().UnixMicro()
	cut, err := r.selectRows(ctx, conn, c, chunkQuery(c.Job, conn.Flavor(), limit), limit)
	if err != nil {
		return err
	}
	// Behind the SELECT, whose lock of the definition lasts until COMMIT.
	if c.High, err = end(ctx, conn); err != nil {
		return err
	}
	switch {
	case c.Job.Only != nil:
		c.Left = c.Job.Only[limit:]
	case cut:
		if err := findRest(ctx, conn, c); err != nil {
			return err
		}
	}
	return conn.Exec(ctx, "COMMIT")
}

// selectRows streams the rows of a query into c's records, up to the job's bytes; cut says
// that there may be more, for these or for limit rows were reached.
func (r *Reader) selectRows(ctx context.Context, conn *wire.Conn, c *Chunk, sql string, limit int) (cut bool, err error) {
	d := r.decoder(c.Job.Table)
	d.flush = func(rec arrow.RecordBatch) error {
		c.Records = append(c.Records, rec)
		c.Bytes += schema.RecordBytes(rec)
		return nil
	}
	unread := int64(0)
	err = conn.StreamPrepared(ctx, sql, d.columns, func(row []byte) error {
		full := c.Rows > 0 && c.Job.Bytes > 0 && c.Bytes+int64(d.bytes+len(row)) > c.Job.Bytes
		if full && c.Job.Only == nil {
			// The rest comes all the same. Where it is short it is let go by, since a new
			// connection costs more.
			if unread += int64(len(row)); unread > c.Job.Bytes {
				return errLarge{c.Rows}
			}
			return nil
		}
		if full && limit > 1 {
			return errLarge{limit}
		}
		c.Rows++
		return d.row(row)
	})
	if err == nil {
		err = d.cut()
	}
	if err != nil {
		r.forget()
	}
	return err == nil && (unread > 0 || c.Rows == limit), err
}

// findRest finds out behind which key the rows of c end, in the same read view.
func findRest(ctx context.Context, conn *wire.Conn, c *Chunk) error {
	k := c.Job.Key
	last, err := queryBound(ctx, conn, k, boundaryQuery(c.Job.Table, k, c.Job.Range, c.Rows))
	if err != nil {
		return err
	}
	if last == nil {
		return fmt.Errorf("%w: row %d of %s is gone from its read view", ErrAmbiguous, c.Rows, c.Job.Range)
	}
	taken := Range{From: c.Job.Range.From, To: last}
	res, err := conn.Query(ctx, "SELECT COUNT(*)"+k.from(tableName(c.Job.Table))+k.clause(taken))
	if err != nil {
		return err
	}
	if n, err := res.Rows[0][0].Int(); err != nil || n != int64(c.Rows) {
		return fmt.Errorf("%w: %s has %s rows, %d were read", ErrAmbiguous, taken, res.Rows[0][0], c.Rows)
	}
	c.Rest = &Range{From: last, To: c.Job.Range.To}
	return nil
}
