package wire

import (
	"context"
	"encoding/binary"
	"fmt"
)

// The commands of prepared statements and the types of result columns that are not
// sent as a string, with the protocol's names
// (https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase_ps.html).
const (
	comStmtPrepare = 0x16
	comStmtExecute = 0x17
	comStmtClose   = 0x19
)

// UnsignedFlag in ColumnDefinition.Flags says that a number has no sign.
const UnsignedFlag = 0x20

// ColumnDefinition describes a column of a result.
type ColumnDefinition struct {
	// Name is the label, Original the name of the column that it shows, empty for
	// an expression.
	Name, Original string
	// Type is the number of the type in the protocol, Charset that of the collation;
	// 63 is binary.
	Type     byte
	Charset  uint16
	Length   uint32
	Flags    uint16
	Decimals byte
}

// Unsigned says whether a number has no sign.
func (d ColumnDefinition) Unsigned() bool { return d.Flags&UnsignedFlag != 0 }

// parseColumnDefinition reads a column definition: six strings (catalog, schema,
// table, its original name, label, original name), then fields of fixed size.
func parseColumnDefinition(p []byte) (d ColumnDefinition, err error) {
	var cell []byte
	for i := range 6 {
		if cell, _, p, err = NextCell(p); err != nil {
			return d, fmt.Errorf("column definition: %w", err)
		}
		switch i {
		case 4:
			d.Name = string(cell)
		case 5:
			d.Original = string(cell)
		}
	}
	if cell, _, _, err = NextCell(p); err != nil || len(cell) < 10 {
		return d, malformed("a column definition ends early")
	}
	d.Charset = binary.LittleEndian.Uint16(cell)
	d.Length = binary.LittleEndian.Uint32(cell[2:])
	d.Type = cell[6]
	d.Flags = binary.LittleEndian.Uint16(cell[7:])
	d.Decimals = cell[9]
	return d, nil
}

// StreamPrepared runs a SELECT as a prepared statement, whose rows come in the binary
// protocol: a byte 0x00, a bitmap of the NULLs beginning with bit 2, then the values
// that are not NULL. columns gets the columns before the first row. row is valid
// until fn returns. An error of either function ends the read and closes the connection.
func (c *Conn) StreamPrepared(ctx context.Context, sql string, columns func([]ColumnDefinition) error, fn func(row []byte) error) error {
	return c.run(ctx, sql, func() error {
		id, err := c.prepare(sql)
		if err != nil {
			return err
		}
		if err = c.execute(id, columns, fn); err == nil || Code(err) != 0 {
			c.idle.Store(false)
			if err := c.command(comStmtClose, binary.LittleEndian.AppendUint32(nil, id)); err != nil { // has no answer
				return err
			}
			c.idle.Store(true)
		}
		return err
	})
}

// prepare prepares a statement without parameters and returns its number.
func (c *Conn) prepare(sql string) (id uint32, err error) {
	if err := c.command(comStmtPrepare, []byte(sql)); err != nil {
		return 0, err
	}
	p, err := c.in.read()
	switch {
	case err != nil:
		return 0, err
	case len(p) > 0 && p[0] == 0xff:
		c.idle.Store(true)
		return 0, serverError(p)
	case len(p) < 12 || p[0] != 0:
		return 0, malformed("%d bytes in answer to a statement that is prepared", len(p))
	}
	id = binary.LittleEndian.Uint32(p[1:])
	if columns, parameters := binary.LittleEndian.Uint16(p[5:]), binary.LittleEndian.Uint16(p[7:]); parameters > 0 {
		return 0, malformed("%d parameters in a statement without any", parameters)
	} else if columns > 0 { // they come again with the rows, perhaps others
		err = c.readColumns(uint64(columns), nil)
	}
	return id, err
}

// execute runs a prepared statement and reads its one result.
func (c *Conn) execute(id uint32, columns func([]ColumnDefinition) error, fn func(row []byte) error) error {
	const noCursor, iterations = 0, 1
	payload := append(binary.LittleEndian.AppendUint32(nil, id), noCursor)
	if err := c.command(comStmtExecute, binary.LittleEndian.AppendUint32(payload, iterations)); err != nil {
		return err
	}
	p, err := c.in.read()
	if err != nil {
		return err
	}
	if len(p) > 0 && p[0] == 0xff {
		c.idle.Store(true)
		return serverError(p)
	}
	n, _, err := lenencInt(p)
	if err != nil || n == 0 || n > maxColumns {
		return malformed("no result of a SELECT")
	}
	definitions := make([]ColumnDefinition, n)
	for i := range definitions {
		if p, err = c.in.read(); err == nil {
			definitions[i], err = parseColumnDefinition(p)
		}
		if err != nil {
			return err
		}
	}
	if p, err = c.in.read(); err != nil {
		return err
	}
	if !isEOF(p) {
		return malformed("no end behind the columns")
	}
	if err := columns(definitions); err != nil {
		return &rowError{err: err}
	}
	return c.readRows(fn)
}

// maxColumns is the most columns that a SELECT may have.
const maxColumns = 4096
