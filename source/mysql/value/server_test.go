package value

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// definitions reads a table's columns as package mysql does.
func definitions(t *testing.T, db *mysqltest.DB, table string) []Definition {
	t.Helper()
	rows := db.Query(`SELECT COLUMN_NAME, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''), IS_NULLABLE FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '` + table + `' ORDER BY ORDINAL_POSITION`)
	var ds []Definition
	for _, r := range rows {
		ds = append(ds, Definition{Name: r[0], ColumnType: r[1], Charset: r[2], Nullable: r[3] == "YES"})
	}
	return ds
}

func columns(t *testing.T, ds []Definition, o Options) []schema.Column {
	t.Helper()
	var cs []schema.Column
	for _, d := range ds {
		c, err := Column(d, o)
		if err != nil {
			t.Fatal(err)
		}
		cs = append(cs, c)
	}
	return cs
}

// session sets what a snapshot's connection sets.
func session(db *mysqltest.DB) {
	db.Exec("SET NAMES utf8mb4", "SET time_zone = '+00:00', sql_mode = ''")
}

// snapshotValues reads a column through the text protocol; an error is a value that begins with "!".
func snapshotValues(t *testing.T, db *mysqltest.DB, table string, c schema.Column, o Options) []string {
	t.Helper()
	result, err := db.Conn.Execute("SELECT " + SelectExpression(c) + " FROM " + table + " ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	var out []string
	for _, row := range result.RowDatas {
		v, null, _, err := mysql.LengthEncodedString(row)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, appended(t, c, func(b array.Builder) error {
			if null {
				b.AppendNull()
				return nil
			}
			read, err := NewTextReader(c, b, o)
			if err != nil {
				return err
			}
			return read(v)
		}))
	}
	return out
}

// appended prints the one value that add appends to a column's builder.
func appended(t testing.TB, c schema.Column, add func(b array.Builder) error) string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	b := array.NewBuilder(mem, c.Type.Arrow())
	defer b.Release()
	err := add(b)
	a := b.NewArray()
	defer a.Release()
	if err != nil {
		var ce *ColumnError
		if !errors.As(err, &ce) || ce.Column != c.Name {
			t.Fatalf("an error that does not name the column: %v", err)
		}
		if a.Len() != 0 {
			t.Fatalf("%v, but something was appended", err)
		}
		return "!" + err.Error()
	}
	if a.Len() != 1 {
		t.Fatalf("%d values appended", a.Len())
	}
	return print(a, 0)
}

// print prints a value with everything that it holds.
func print(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.Timestamp:
		return a.Value(i).ToTime(arrow.Microsecond).UTC().Format("2006-01-02 15:04:05.000000")
	case *array.Date32:
		return a.Value(i).ToTime().Format("2006-01-02")
	case *array.Time64:
		return string(appendTime(nil, int64(a.Value(i)), 6))
	case *array.Binary:
		return fmt.Sprintf("%x", a.Value(i))
	case *array.FixedSizeBinary:
		return fmt.Sprintf("%x", a.Value(i))
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Decimal256:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal256Type).Scale)
	}
	return a.ValueStr(i)
}

// logPosition is where the binlog ends now.
func logPosition(db *mysqltest.DB) mysql.Position {
	sql := "SHOW MASTER STATUS"
	if db.Name == "MySQL97" {
		sql = "SHOW BINARY LOG STATUS"
	}
	r := db.Query(sql)[0]
	var p mysql.Position
	p.Name = r[0]
	fmt.Sscan(r[1], &p.Pos)
	return p
}

// readLog gives fn all rows events of a database from a place to the end that the log has now.
func readLog(t *testing.T, db *mysqltest.DB, from mysql.Position, fn func(table *event.TableMap, rows *event.Rows)) {
	t.Helper()
	end := logPosition(db)
	cfg := replication.BinlogSyncerConfig{
		ServerID: 40_000 + rand.Uint32N(1_000_000), Flavor: "mysql", Host: db.Host, Port: uint16(db.Port), User: db.User, Password: db.Password,
		Logger: slog.New(slog.DiscardHandler), MaxReconnectAttempts: 1, RawModeEnabled: true,
	}
	if db.MariaDB {
		cfg.Flavor = "mariadb"
	}
	syncer := replication.NewBinlogSyncer(cfg)
	defer syncer.Close()
	stream, err := syncer.StartSync(from)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := &logParser{tables: map[uint64]*event.TableMap{}, database: db.Database, fn: fn}
	for at := from; at.Compare(end) < 0; {
		e, err := stream.GetEvent(ctx)
		if err == nil {
			at, err = log.next(at, e.RawData)
		}
		if err != nil {
			t.Fatalf("at %v on the way to %v: %v", at, end, err)
		}
	}
}

// logParser knows what the events of a log need to know of each other.
type logParser struct {
	format   *event.Format
	tables   map[uint64]*event.TableMap
	database string
	fn       func(*event.TableMap, *event.Rows)
}

// next takes an event and returns the place behind it.
func (l *logParser) next(at mysql.Position, p []byte) (mysql.Position, error) {
	h, err := event.ParseHeader(p)
	if err != nil {
		return at, err
	}
	body, err := l.format.Body(h, p)
	if err != nil {
		return at, err
	}
	if !h.Artificial() && h.LogPos > 0 {
		at.Pos = h.LogPos
	}
	switch {
	case h.Type == event.FormatType:
		l.format, err = event.ParseFormat(body)
	case h.Type == event.RotateType:
		var r event.Rotate
		err = r.Parse(body)
		at = mysql.Position{Name: string(r.File), Pos: uint32(r.Position)}
	case h.Type == event.TableMapType:
		m := &event.TableMap{}
		err = m.Parse(l.format, body)
		l.tables[m.TableID] = m
	case h.Type.IsRows():
		rows := &event.Rows{}
		if err = rows.Parse(l.format, h.Type, body); err == nil && !rows.Dummy() {
			if m := l.tables[rows.TableID]; string(m.Database) == l.database {
				l.fn(m, rows)
			}
		}
	}
	return at, err
}

// image walks over one image, of whose columns all are there, and returns what follows.
func image(t *testing.T, m *event.TableMap, p []byte, fn func(column int, ct CellType, cell []byte)) []byte {
	t.Helper()
	n := len(m.Types)
	nulls := event.Bitmap(p[:(n+7)/8])
	p = p[len(nulls):]
	for i := range n {
		ct := CellType{Type: m.Types[i], Meta: m.Metas[i]}
		if nulls.Has(i) {
			fn(i, ct, nil)
			continue
		}
		size, err := Skip(ct, p)
		if err != nil {
			t.Fatalf("table %s, column %d, %v: %v", m.Table, i, ct, err)
		}
		fn(i, ct, p[:size:size])
		p = p[size:]
	}
	return p
}

// logValues prints a column of the rows of an insert.
func logValues(t *testing.T, m *event.TableMap, rows *event.Rows, column int, c schema.Column, o Options) (out []string) {
	t.Helper()
	for p := rows.Area; len(p) > 0; {
		p = image(t, m, p, func(i int, ct CellType, cell []byte) {
			switch {
			case i != column:
			case cell == nil:
				out = append(out, "NULL")
			default:
				out = append(out, cellValue(t, c, ct, o, cell))
				truncated(t, c, ct, o, cell)
			}
		})
	}
	return out
}

// cellValue prints what a reader makes of a cell, all of which it has to take.
func cellValue(t testing.TB, c schema.Column, ct CellType, o Options, cell []byte) string {
	t.Helper()
	return appended(t, c, func(b array.Builder) error {
		read, err := NewCellReader(c, ct, b, o)
		if err != nil {
			return err
		}
		took, err := read(cell)
		if err == nil && took != len(cell) {
			t.Fatalf("%d bytes read of %d", took, len(cell))
		}
		return err
	})
}

// truncated wants an error, and nothing appended, for every beginning of a cell.
func truncated(t *testing.T, c schema.Column, ct CellType, o Options, cell []byte) {
	t.Helper()
	for n := range min(len(cell), 50) {
		got := appended(t, c, func(b array.Builder) error {
			read, err := NewCellReader(c, ct, b, o)
			if err != nil {
				return err
			}
			_, err = read(cell[:n:n])
			return err
		})
		if !strings.HasPrefix(got, "!") {
			t.Fatalf("%s: %d of the %d bytes %x read as %s", c.Source.Name, n, len(cell), cell, got)
		}
	}
}
