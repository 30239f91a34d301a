package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-cdc/freshet/schema"
)

// Record batches of a snapshot are cut at these bounds: large enough that a
// batch's fixed cost vanishes, small enough for a cache.
const (
	copyRows  = 8192
	copyBytes = 1 << 20
)

// errRowsMoved says that a leaf is not what was planned: it has another file
// (VACUUM FULL, CLUSTER, TRUNCATE, a rewriting ALTER), another name or is gone.
var errRowsMoved = errors.New("the table's rows have moved")

// errStale says that the table's columns are not those that were asked for.
var errStale = errors.New("the table's columns have changed")

// errFull ends a COPY whose rows have reached the bound of a chunk.
var errFull = errors.New("the chunk is full")

// chunkJob is one range to read.
type chunkJob struct {
	Table *schema.Table
	Chunk uint64 // number in the window core
	// Incarnation of the table when the job was made: an older one is void.
	Incarnation int
	Leaf        leafPlan
	Range       tidRange
	// Snapshot is the exported snapshot of a table without a key, else empty.
	Snapshot string
	// Fill are keys whose rows are to be read instead of a range.
	Fill []fillKey
}

// chunkRows is the result of a chunkJob.
type chunkRows struct {
	Job  chunkJob
	High uint64 // 0 when the transaction could not be opened
	// Records are the rows; the receiver releases them. Bytes is their memory.
	Records []arrow.RecordBatch
	Bytes   int64
	// ReadTime is when the snapshot was opened, microseconds since 1970.
	ReadTime int64
	// Next is the number of the next transaction at that time.
	Next uint64
	// Rest is what the chunk leaves unread, because its values were larger than expected.
	Rest *tidRange
	// Err is errRowsMoved, errStale or what ended the reading.
	Err error
}

// release gives back rows that do not enter the log.
func (c *chunkRows) release() {
	for _, r := range c.Records {
		r.Release()
	}
	c.Records = nil
}

// chunkReader reads chunks over one connection, which it opens when needed.
type chunkReader struct {
	cfg  *config
	mem  memory.Allocator
	conn *pgx.Conn
}

// bulk returns the configuration of connections that read much: their buffer is
// larger than the 8 KiB that each read would otherwise bring.
func (c *config) bulk() *config {
	const readBuffer = 128 << 10
	out := *c
	out.conn.pg = c.conn.pg.Copy()
	out.conn.pg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w)
	}
	return &out
}

// close ends the connection.
func (r *chunkReader) close() {
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		r.conn.Close(ctx)
		r.conn = nil
	}
}

// read reads one chunk in a transaction of its own.
func (r *chunkReader) read(ctx context.Context, job chunkJob) *chunkRows {
	res := &chunkRows{Job: job}
	if res.Err = r.readInto(ctx, job, res); res.Err != nil {
		res.release()
	}
	if r.conn != nil && r.conn.IsClosed() {
		r.conn = nil
	}
	return res
}

func (r *chunkReader) readInto(ctx context.Context, job chunkJob, res *chunkRows) error {
	if r.conn == nil {
		conn, err := r.cfg.bulk().connect(ctx)
		if err != nil {
			return err
		}
		r.conn = conn
	}
	if err := r.begin(ctx, job, res); err != nil {
		r.rollback(ctx)
		return chunkError(job, err)
	}
	err := r.copy(ctx, job, res)
	if errors.Is(err, errFull) {
		r.close() // the rest of the stream is not wanted
		return nil
	}
	if err != nil {
		r.rollback(ctx)
		return chunkError(job, err)
	}
	if _, err := r.conn.PgConn().Exec(ctx, "COMMIT").ReadAll(); err != nil {
		return chunkError(job, err)
	}
	return nil
}

// rollback leaves the connection usable after an error of the server.
func (r *chunkReader) rollback(ctx context.Context) {
	if !r.conn.IsClosed() {
		if _, err := r.conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
			r.close()
		}
	}
}

// begin opens the transaction and learns HIGH.
func (r *chunkReader) begin(ctx context.Context, job chunkJob, res *chunkRows) error {
	sql := beginFill
	if job.Fill == nil {
		sql = beginChunk(&job.Leaf, job.Snapshot)
	}
	results, err := r.conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return err
	}
	row := results[len(results)-1].Rows[0]
	high, err := pglogrepl.ParseLSN(string(row[0]))
	if err != nil {
		return err
	}
	res.High, res.ReadTime = uint64(high), time.Now().UnixMicro()
	if job.Fill != nil {
		return nil
	}
	if res.Next, err = strconv.ParseUint(string(row[3]), 10, 64); err != nil {
		return fmt.Errorf("the number of the next transaction: %w", err)
	}
	if string(row[1]) != fmt.Sprint(job.Leaf.FileNode) || string(row[2]) != fmt.Sprint(job.Leaf.OID) {
		return errRowsMoved
	}
	return nil
}

// copy streams the rows of the range into records.
func (r *chunkReader) copy(ctx context.Context, job chunkJob, res *chunkRows) error {
	var at tid
	full := false
	o := r.cfg.copyOptions(job.Table)
	if job.Leaf.Toast && job.Fill == nil {
		o.Extra = 1
		o.OnExtra = func(_ int, v []byte) error {
			if at = parseTID(v); full {
				return errFull
			}
			return nil
		}
	}
	d := newCopyDecoder(r.mem, job.Table, o, func(rec arrow.RecordBatch) error {
		res.Records = append(res.Records, rec)
		res.Bytes += schema.RecordBytes(rec)
		full = res.Bytes >= chunkBytes
		return nil
	})
	defer d.Release()
	sql := fillStatement(job.Table, job.Leaf.OID != 0, job.Fill)
	if job.Fill == nil {
		sql = copyStatement(job.Table, &job.Leaf, job.Range)
	}
	_, err := r.conn.PgConn().CopyTo(ctx, d, sql)
	if errors.Is(err, errFull) {
		res.Rest = &tidRange{Leaf: job.Range.Leaf, From: at, To: job.Range.To}
	}
	if err != nil {
		return err
	}
	return d.Close()
}

// parseTID reads the binary form of a tid: block, then number in it.
func parseTID(v []byte) tid {
	if len(v) != 6 {
		return 0
	}
	return tid(v[0])<<40 | tid(v[1])<<32 | tid(v[2])<<24 | tid(v[3])<<16 | tid(v[4])<<8 | tid(v[5])
}

// chunkError says what an error of a chunk means for its table.
func chunkError(job chunkJob, err error) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		switch pe.Code {
		case "42P01", "3F000": // undefined table or schema
			return fmt.Errorf("%w: %s", errRowsMoved, pe.Message)
		case "42703", "42804", "42846": // undefined column, no cast
			return fmt.Errorf("%w: %s", errStale, pe.Message)
		case "42501":
			return withHint(fmt.Errorf("%w: reading table %s: %s", ErrPrivilege, job.Table.ID, pe.Message), "GRANT SELECT ON %s TO the role of the pipeline", quoteIdent(job.Leaf.Schema)+"."+quoteIdent(job.Leaf.Name))
		}
	}
	if errors.Is(err, errCopyFormat) {
		return fmt.Errorf("%w: %w", errStale, err)
	}
	if job.Fill != nil {
		return fmt.Errorf("reading rows of table %s by key: %w", job.Table.ID, err)
	}
	return fmt.Errorf("reading table %s, rows %s to %s: %w", job.Table.ID, job.Range.From, job.Range.To, err)
}
