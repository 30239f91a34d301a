package value

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// binaryValues reads a column through the binary protocol, as snapshotValues does.
func binaryValues(t *testing.T, conn *wire.Conn, db *mysqltest.DB, table string, c schema.Column, o Options) (out []string) {
	t.Helper()
	var d wire.ColumnDefinition
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sql := "SELECT " + SelectExpression(c) + " FROM " + wire.Table(db.Database, table) + " ORDER BY id"
	err := conn.StreamPrepared(ctx, sql, func(ds []wire.ColumnDefinition) error { d = ds[0]; return nil }, func(row []byte) error {
		v, null := row[2:], row[1]&4 != 0
		if size := BinarySize(d.Type); !null && size == 0 {
			var err error
			if v, _, row, err = wire.NextCell(v); err != nil || len(row) > 0 {
				return fmt.Errorf("%d bytes behind the value, %w", len(row), err)
			}
		}
		out = append(out, appended(t, c, func(b array.Builder) error {
			read, err := NewBinaryReader(c, d.Type, d.Unsigned(), b, o)
			if err != nil {
				return err
			}
			if null {
				b.AppendNull()
				return nil
			}
			return read(v)
		}))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBinaryPath compares the two protocols, type by type and server by server.
func TestBinaryPath(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		conn, err := wire.Connect(t.Context(), wire.Config{Host: s.Host, Port: s.Port, User: s.User, Password: s.Password})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for i, tc := range pathCases {
			if !tc.runsOn(s) {
				continue
			}
			name := fmt.Sprintf("t%d", i)
			db.Exec("SET NAMES utf8mb4", "SET time_zone = '+00:00'", "SET sql_mode = 'ALLOW_INVALID_DATES'")
			if tc.setup != "" {
				db.Exec(tc.setup)
			}
			db.Exec(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, c %s)", name, tc.typ))
			for j, v := range tc.values {
				db.Exec(fmt.Sprintf("INSERT INTO %s (id, c) VALUES (%d, %s)", name, j, v))
			}
			session(db)
			c := columns(t, definitions(t, db, name), tc.options(s))[1]
			text, binary := snapshotValues(t, db, name, c, tc.options(s)), binaryValues(t, conn, db, name, c, tc.options(s))
			if !slices.Equal(text, binary) {
				t.Errorf("%s:\ntext   %.2000q\nbinary %.2000q", tc.typ, text, binary)
			}
		}
	})
}

// TestBinaryMismatch: another type than the definition's is never read.
func TestBinaryMismatch(t *testing.T) {
	for typ, others := range map[string][]byte{
		"int": {cellLongLong, cellShort, cellVarString, cellNewDecimal, cellDouble, cellDate}, "varchar(9) | utf8mb4": {cellLong, cellDatetime, cellTime},
		"date": {cellDatetime, cellVarString, cellLong}, "datetime(3)": {cellTimestamp, cellDate, cellVarString}, "float": {cellFloat, cellLong},
		"decimal(5,1)": {cellDouble, cellLongLong}, "year": {cellShort}, "bit(3)": {cellTiny}, "enum('a') | utf8mb4": {cellTiny},
	} {
		c := definition(t, typ, Options{})
		for _, other := range others {
			b := array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
			if _, err := NewBinaryReader(c, other, false, b, Options{}); !errors.Is(err, ErrMismatch) {
				t.Errorf("%s read as %v: %v", typ, CellType{Type: other}, err)
			}
			b.Release()
		}
	}
	c := definition(t, "bigint unsigned", Options{})
	b := array.NewBuilder(memory.DefaultAllocator, c.Type.Arrow())
	defer b.Release()
	if _, err := NewBinaryReader(c, cellLongLong, false, b, Options{}); !errors.Is(err, ErrMismatch) {
		t.Errorf("a bigint read as unsigned: %v", err)
	}
}

// TestBinaryRange: what the column's type can't hold is an error.
func TestBinaryRange(t *testing.T) {
	for _, tc := range []struct {
		def      string
		typ      byte
		unsigned bool
		v        string
	}{
		{"mediumint", cellInt24, false, "\x00"}, {"int", cellLong, true, "\xff\xff\xff\xff"}, {"tinyint", cellTiny, true, "\xff"},
		{"bigint", cellLongLong, true, "\xff\xff\xff\xff\xff\xff\xff\xff"}, {"float", cellDouble, false, "\x01\x00\x00\x00\x00\x00\xf0\x3f"},
		{"date", cellDate, false, "\xe8\x07\x0d\x01"}, {"date", cellDate, false, "\xe8\x07"}, {"datetime", cellDatetime, false, "\xe8\x07\x01\x01\x18\x00\x00"},
		{"time", cellTime, false, "\x00\x00\x00\x00\x00\x18\x00\x00"}, {"time", cellTime, false, "\x00\x23\x00\x00\x00\x00\x00\x00"},
	} {
		c := definition(t, tc.def, Options{})
		got := appended(t, c, func(b array.Builder) error {
			read, err := NewBinaryReader(c, tc.typ, tc.unsigned, b, Options{})
			if err != nil {
				return err
			}
			return read([]byte(tc.v))
		})
		if !strings.HasPrefix(got, "!") {
			t.Errorf("%s: %x read as %s", tc.def, tc.v, got)
		}
	}
}

func FuzzBinary(f *testing.F) {
	all := kinds(capturedCells(f))
	types := []byte{cellTiny, cellShort, cellLong, cellInt24, cellLongLong, cellDouble, cellYear, cellDate, cellDatetime, cellTimestamp, cellTime, cellVarString}
	for i, k := range all {
		base, _, _ := strings.Cut(k.def, "(")
		j := max(slices.Index(types, resultTypes[baseName(base)]), 0)
		f.Add(uint16(i), byte(j), []byte("\xe8\x07\x02\x1d\x0c\x22\x38"))
		f.Add(uint16(i), byte(j), binary.LittleEndian.AppendUint64(nil, 77))
	}
	f.Fuzz(func(t *testing.T, kind uint16, typ byte, v []byte) {
		c := definition(t, all[int(kind)%len(all)].def, Options{ZeroDates: ZeroDates(kind % 3), Time: TimeMode(kind % 3)})
		appended(t, c, func(b array.Builder) error {
			read, err := NewBinaryReader(c, types[int(typ)%len(types)], kind&1 != 0, b, Options{ZeroDates: ZeroDates(kind % 3), Time: TimeMode(kind % 3)})
			if err != nil {
				return err
			}
			return read(v)
		})
	})
}
