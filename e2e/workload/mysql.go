package workload

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	protocol "github.com/go-mysql-org/go-mysql/mysql"
)

// mysqlTimeout bounds one connect, and one answer of the server: a proxy may cut it off.
const mysqlTimeout = 30 * time.Second

// mysqlSession is a connection to MySQL or MariaDB.
type mysqlSession struct {
	conn     *client.Conn
	database string
}

func connectMySQL(ctx context.Context, address string, config Config) (session, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	database := strings.TrimPrefix(u.Path, "/")
	ctx, cancel := context.WithTimeout(ctx, mysqlTimeout)
	defer cancel()
	conn, err := client.ConnectWithContext(ctx, u.Host, u.User.Username(), password, database, mysqlTimeout, func(c *client.Conn) error {
		c.ReadTimeout = mysqlTimeout
		return c.SetCapability(protocol.CLIENT_MULTI_STATEMENTS)
	})
	if err != nil {
		return nil, err
	}
	s := mysqlSession{conn, database}
	if err := s.script(ctx, config.Session); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s mysqlSession) close() { s.conn.Close() }

// run sends the whole transaction at once.
func (s mysqlSession) run(ctx context.Context, t *transaction) error {
	begin, end := "BEGIN", "COMMIT"
	if t.rollback {
		end = "ROLLBACK"
	}
	if t.twoPhases {
		// The name says what is to become of it when we lose the connection.
		name := fmt.Sprintf("%s-%d", s.xaPrefix(end, t.worker), t.number)
		begin = "XA START '" + name + "'"
		end = fmt.Sprintf("XA END '%[1]s';XA PREPARE '%[1]s';XA %[2]s '%[1]s'", name, end)
	}
	var sql strings.Builder
	sql.WriteString(begin)
	for _, st := range t.statements {
		sql.WriteString(";\n")
		sql.WriteString(st.literal())
	}
	sql.WriteString(";\n" + end)
	return s.multiple(ctx, sql.String())
}

func (s mysqlSession) script(ctx context.Context, statements []string) error {
	for _, sql := range statements {
		if err := s.multiple(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// multiple runs statements that are separated by semicolons, up to the first error.
func (s mysqlSession) multiple(ctx context.Context, sql string) error {
	var failed error
	_, err := s.conn.ExecuteMultiple(sql, func(result *protocol.Result, err error) {
		if err != nil {
			failed = err
			return
		}
		result.Close()
	})
	return errors.Join(failed, err, ctx.Err())
}

// xaPrefix begins the names of a worker's transactions in two phases that are to
// end by COMMIT or ROLLBACK. Other databases of the server may have some too.
func (s mysqlSession) xaPrefix(end string, worker int) string {
	return fmt.Sprintf("%s-%s-%d", s.database, end, worker)
}

func (s mysqlSession) transactions(ctx context.Context, worker int) (int64, error) {
	prepared, err := s.conn.Execute("XA RECOVER")
	if err != nil {
		return 0, err
	}
	for i := range prepared.RowNumber() {
		name, err := prepared.GetString(i, 3)
		if err != nil {
			return 0, err
		}
		for _, end := range []string{"COMMIT", "ROLLBACK"} {
			if strings.HasPrefix(name, s.xaPrefix(end, worker)+"-") {
				if _, err := s.conn.Execute("XA " + end + " '" + name + "'"); err != nil {
					return 0, err
				}
			}
		}
	}
	result, err := s.conn.Execute(fmt.Sprintf("SELECT transactions FROM progress WHERE worker = %d", worker))
	if err != nil {
		return 0, err
	}
	n, err := result.GetInt(0, 0)
	return n, errors.Join(err, ctx.Err())
}

func (s mysqlSession) temporary(err error) bool {
	var answer *protocol.MyError
	if !errors.As(err, &answer) {
		return true
	}
	switch answer.Code {
	case protocol.ER_LOCK_DEADLOCK, protocol.ER_LOCK_WAIT_TIMEOUT, protocol.ER_SERVER_SHUTDOWN, protocol.ER_QUERY_INTERRUPTED, protocol.ER_XA_RBDEADLOCK:
		return true
	}
	return false
}

var placeholder = regexp.MustCompile(`\$\d+`)

// literal returns the statement with its arguments written into it.
func (st statement) literal() string {
	return placeholder.ReplaceAllStringFunc(st.sql, func(p string) string {
		n, _ := strconv.Atoi(p[1:])
		return mysqlLiteral(st.args[n-1])
	})
}

func mysqlLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + protocol.Escape(v) + "'"
	case []byte:
		return fmt.Sprintf("X'%x'", v)
	case float64:
		return strconv.FormatFloat(v, 'e', -1, 64)
	case float32:
		return strconv.FormatFloat(float64(v), 'e', -1, 32)
	}
	return fmt.Sprint(v) // integers and booleans
}
