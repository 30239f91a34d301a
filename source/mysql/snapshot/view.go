package snapshot

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// View is one read view, for a table without a key. It holds a connection and a
// transaction, until Close.
type View struct {
	// High is a place that covers everything the view sees. On MariaDB it is exact: the view
	// sees what lies before it, and nothing else.
	High Place
	// Exact says so; who finds out by other means that High is exact may set it.
	Exact bool
	// GTIDs are transactions that the view certainly sees, MySQL only: which of those
	// between them and High it sees, nobody can tell. Where the log has a change of the
	// table there, the view is to be given up and another one opened.
	GTIDs string
	// Defined is where the table's definition was locked: up to Close no other begins.
	// Where the log has a change of it between High and Defined, the view is void.
	Defined Place

	table *schema.Table
	r     *Reader
	conn  *wire.Conn
}

// OpenView opens a read view over a table and locks its definition. The Reader may be used
// meanwhile; it takes another connection.
func (r *Reader) OpenView(ctx context.Context, t *schema.Table) (v *View, err error) {
	err = r.retry(ctx, t.ID, "open a read view", func(conn *wire.Conn) error {
		v = &View{table: t, r: r, conn: conn}
		return v.open(ctx)
	})
	if err != nil {
		return nil, err
	}
	r.conn = nil // it is the view's
	return v, nil
}

func (v *View) open(ctx context.Context) (err error) {
	if v.conn.Flavor() == wire.MySQL {
		res, err := v.conn.Query(ctx, "SELECT @@GLOBAL.gtid_executed")
		if err != nil {
			return err
		}
		v.GTIDs = res.Rows[0][0].String()
	}
	if err := v.conn.Exec(ctx, begin); err != nil {
		return err
	}
	if v.conn.Flavor() == wire.MariaDB {
		v.Exact = true
		v.High, err = viewPlace(ctx, v.conn)
	} else { // at once: what comes before it may or may not be seen
		v.High, err = end(ctx, v.conn)
	}
	if err != nil {
		return err
	}
	if err := v.conn.Exec(ctx, selectList(v.table, v.conn.Flavor())+" FROM "+tableName(v.table)+" LIMIT 0"); err != nil {
		return err
	}
	v.Defined, err = end(ctx, v.conn)
	return err
}

// Renew gives the view up and opens another one in its place.
func (v *View) Renew(ctx context.Context) error {
	err := v.conn.Exec(ctx, "ROLLBACK")
	if err == nil {
		err = v.open(ctx)
	}
	if err != nil {
		return explain(v.table.ID, "open a read view", err)
	}
	return nil
}

// Read streams all rows of the table, once. fn takes over each record. The server
// waits while fn does, so memory stays bounded by a record; the read view lasts on.
// Errors are as those of a Chunk.
func (v *View) Read(ctx context.Context, fn func(arrow.RecordBatch) error) error {
	d := newDecoder(v.r.set.Memory, v.table, v.r.set.Values)
	defer d.release()
	d.flush = func(rec arrow.RecordBatch) error {
		if err := fn(rec); err != nil {
			return callerError{err}
		}
		return nil
	}
	sql := selectList(v.table, v.conn.Flavor()) + " FROM " + tableName(v.table)
	err := v.conn.StreamPrepared(ctx, sql, d.columns, d.row)
	if err == nil {
		err = d.cut()
	}
	if own, ok := err.(callerError); ok {
		return own.error
	}
	if err != nil {
		return explain(v.table.ID, fmt.Sprintf("read all rows as of %s", v.High), err)
	}
	return nil
}

// callerError is an error of the function that takes the rows.
type callerError struct{ error }

// Close ends the view.
func (v *View) Close() { _ = v.conn.Close() }
