package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Commands, with the protocol's names.
const (
	comQuery          = 0x03
	comBinlogDump     = 0x12
	comRegisterSlave  = 0x15
	comBinlogDumpGTID = 0x1e
)

// Value is one value of a Result as the server prints it, nil for NULL.
type Value []byte

// Null says whether the value is NULL.
func (v Value) Null() bool { return v == nil }

// String returns the text, empty for NULL.
func (v Value) String() string { return string(v) }

// Int returns the value as a number.
func (v Value) Int() (int64, error) { return strconv.ParseInt(string(v), 10, 64) }

// Uint returns the value as a number without sign.
func (v Value) Uint() (uint64, error) { return strconv.ParseUint(string(v), 10, 64) }

// Result is a small result in memory. It holds no buffer of the connection.
type Result struct {
	// Columns are the labels.
	Columns []string
	Rows    [][]Value
}

// Value returns the value of the column called name in the row, nil where there is
// no such column. Case does not count: servers differ.
func (r *Result) Value(row int, name string) Value {
	for i, c := range r.Columns {
		if equalFold(c, name) {
			return r.Rows[row][i]
		}
	}
	return nil
}

func equalFold(a, b string) bool { return bytes.EqualFold([]byte(a), []byte(b)) }

// Exec runs a statement; rows that it returns are thrown away.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	return c.run(ctx, sql, func() error { return c.exec(sql) })
}

func (c *Conn) exec(sql string) error {
	return c.query(sql, nil, func([]byte) error { return nil })
}

// Query runs a statement and returns all its rows. It is for small results.
func (c *Conn) Query(ctx context.Context, sql string) (*Result, error) {
	r := &Result{}
	err := c.run(ctx, sql, func() error {
		return c.query(sql, r, func(row []byte) error {
			values, err := readRow(row, len(r.Columns))
			r.Rows = append(r.Rows, values)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Stream runs a SELECT and gives each row packet of the text protocol to fn: the
// values one after the other, for NextCell. row is valid until fn returns. An
// error of fn ends the read and closes the connection.
func (c *Conn) Stream(ctx context.Context, sql string, fn func(row []byte) error) error {
	return c.run(ctx, sql, func() error { return c.query(sql, nil, fn) })
}

// run guards a statement. Only after the server's own error the session goes on.
func (c *Conn) run(ctx context.Context, sql string, fn func() error) error {
	if c.dump.Load() != nil {
		return errors.New("a statement on a connection that dumps the binlog")
	}
	err := c.guard(ctx, fn)
	var answer *mysql.MyError
	var inside *rowError
	switch {
	case err == nil:
	case errors.As(err, &inside):
		c.fail()
		return inside.err
	case errors.As(err, &answer):
	case ctx.Err() != nil:
		return err
	default:
		c.fail()
	}
	if err != nil {
		return statementError(sql, err)
	}
	return nil
}

// rowError is the error of a callback, which is handed on as it is.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }

// query sends a statement and reads its one result. labels gets the columns.
func (c *Conn) query(sql string, labels *Result, fn func(row []byte) error) error {
	if err := c.command(comQuery, []byte(sql)); err != nil {
		return err
	}
	p, err := c.in.read()
	if err != nil {
		return err
	}
	if len(p) == 0 {
		return malformed("an empty packet")
	}
	switch p[0] {
	case 0x00:
		c.idle.Store(true)
		return nil
	case 0xff:
		c.idle.Store(true)
		return serverError(p)
	case 0xfb:
		return malformed("the server asks for a local file")
	}
	n, _, err := lenencInt(p)
	if err != nil {
		return err
	}
	if err := c.readColumns(n, labels); err != nil {
		return err
	}
	return c.readRows(fn)
}

// readColumns reads n column definitions and the EOF packet behind them.
func (c *Conn) readColumns(n uint64, labels *Result) error {
	if n > 4096 { // the most that a SELECT may have
		return malformed("%d columns", n)
	}
	for range n {
		p, err := c.in.read()
		if err != nil {
			return err
		}
		if labels == nil {
			continue
		}
		label, err := columnLabel(p)
		if err != nil {
			return err
		}
		labels.Columns = append(labels.Columns, label)
	}
	p, err := c.in.read()
	if err != nil {
		return err
	}
	if !isEOF(p) {
		return malformed("no end behind the columns")
	}
	return nil
}

// isEOF recognizes the EOF packet; a value of 16 MB or more begins alike.
func isEOF(p []byte) bool { return len(p) > 0 && len(p) < 9 && p[0] == 0xfe }

// readRows hands on the rows up to the end of the result.
func (c *Conn) readRows(fn func(row []byte) error) error {
	for {
		p, err := c.in.read()
		if err != nil {
			return err
		}
		if len(p) > 0 && p[0] == 0xff {
			c.idle.Store(true)
			return serverError(p)
		}
		if isEOF(p) {
			return c.endOfRows(p)
		}
		if err := fn(p); err != nil {
			return &rowError{err: err}
		}
	}
}

// endOfRows refuses a second result: we never ask for two.
func (c *Conn) endOfRows(p []byte) error {
	const moreResults = 0x0008
	if len(p) >= 5 && (uint16(p[3])|uint16(p[4])<<8)&moreResults != 0 {
		return malformed("a second result")
	}
	c.idle.Store(true)
	return nil
}

// columnLabel reads the label of a column definition: catalog, schema, table,
// original table, name.
func columnLabel(p []byte) (string, error) {
	var cell []byte
	var err error
	for range 5 {
		if cell, _, p, err = NextCell(p); err != nil {
			return "", fmt.Errorf("column definition: %w", err)
		}
	}
	return string(cell), nil
}

// readRow copies the values of a row. What is missing at the end is NULL: MySQL
// leaves out the UUID in its list of replicas when it does not know it.
func readRow(row []byte, columns int) ([]Value, error) {
	values := make([]Value, columns)
	for i := range values {
		if len(row) == 0 && i > 0 {
			break
		}
		cell, null, rest, err := NextCell(row)
		if err != nil {
			return nil, err
		}
		if !null {
			values[i] = append(Value{}, cell...)
		}
		row = rest
	}
	if len(row) > 0 {
		return nil, malformed("a row with more values than columns")
	}
	return values, nil
}
