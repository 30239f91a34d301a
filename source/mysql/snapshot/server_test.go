package snapshot

import (
	"context"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// values are the options that the tests read with.
func values(s *mysqltest.Server) value.Options {
	return value.Options{MariaDB: s.MariaDB, Time: value.TimeText}
}

// connector returns what a Reader of the server connects with.
func connector(s *mysqltest.Server) func(context.Context) (*wire.Conn, error) {
	return func(ctx context.Context) (*wire.Conn, error) {
		return wire.Connect(ctx, wire.Config{Host: s.Host, Port: s.Port, User: s.User, Password: s.Password})
	}
}

// reader returns a Reader that the end of the test closes.
func reader(t testing.TB, s *mysqltest.Server) *Reader {
	r := NewReader(connector(s), Settings{Values: values(s)})
	t.Cleanup(r.Close)
	return r
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// definition reads the definition of a table; key names its key columns.
func definition(t testing.TB, s *mysqltest.Server, database, table string, key ...string) *schema.Table {
	t.Helper()
	ctx := within(t)
	conn, err := connector(s)(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	res, err := conn.Query(ctx, "SELECT COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "+
		wire.Literal(database)+" AND TABLE_NAME = "+wire.Literal(table)+" ORDER BY ORDINAL_POSITION")
	if err != nil {
		t.Fatal(err)
	}
	out := &schema.Table{ID: schema.TableID{Schema: database, Table: table}, PrimaryKey: key, Version: 1}
	for _, row := range res.Rows {
		c, err := value.Column(value.Definition{Name: row[0].String(), ColumnType: row[1].String(), Charset: row[2].String(), Collation: row[3].String(),
			Nullable: row[4].String() == "YES"}, values(s))
		if err != nil {
			t.Fatal(err)
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}

// myError is an error as the server sends it.
func myError(code uint16) error {
	return &mysql.MyError{Code: code, Message: "as a test says", State: "HY000"}
}
