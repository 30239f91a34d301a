package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// minVersion is the oldest server that is supported: PostgreSQL 14, the first
// that scans ctid ranges without reading the whole table.
const minVersion = 140000

// connOptions say where the server is and who logs in.
type connOptions struct {
	pg      *pgx.ConnConfig
	timeout time.Duration
}

// parseConn builds the connection's configuration from url and the single keys,
// the latter winning, and libpq's environment and files below both.
func parseConn(o map[string]string) (connOptions, error) {
	if o["url"] == "" && o["hostname"] == "" {
		return connOptions{}, &source.OptionError{Key: "hostname", Msg: "is required", Hint: "set hostname, or url"}
	}
	dsn, err := keywords(o)
	if err != nil {
		return connOptions{}, err
	}
	pg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return connOptions{}, &source.OptionError{Key: connKey(o), Msg: scrub(err, o), Hint: "compare with https://www.postgresql.org/docs/current/libpq-connect.html"}
	}
	if pg.Database == "" {
		return connOptions{}, &source.OptionError{Key: "database", Msg: "is required", Hint: "set database, or write tables as database.schema.table"}
	}
	if pg.User == "" {
		return connOptions{}, &source.OptionError{Key: "username", Msg: "is required"}
	}
	for k, v := range sessionSettings {
		pg.RuntimeParams[k] = v
	}
	timeout, _ := time.ParseDuration(o["connect.timeout"])
	pg.ConnectTimeout = timeout
	return connOptions{pg: pg, timeout: timeout}, nil
}

func connKey(o map[string]string) string {
	if o["url"] != "" {
		return "url"
	}
	return "hostname"
}

// scrub prints a parse error without the secrets of the options.
func scrub(err error, o map[string]string) string {
	msg := err.Error()
	var pe *pgconn.ParseConfigError
	if errors.As(err, &pe) {
		if cause := pe.Unwrap(); cause != nil {
			msg = cause.Error()
		} else {
			msg = "cannot be parsed"
		}
	}
	for _, key := range []string{"password", "sslpassword", "url"} {
		if o[key] != "" {
			msg = strings.ReplaceAll(msg, o[key], "******")
		}
	}
	return msg
}

// keywords writes the options as libpq's keyword string.
func keywords(o map[string]string) (string, error) {
	var parts []string
	add := func(k, v string) {
		if v != "" {
			parts = append(parts, k+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v)+"'")
		}
	}
	if url := o["url"]; strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://") {
		kv, err := urlKeywords(url)
		if err != nil {
			return "", &source.OptionError{Key: "url", Msg: "is no connection URL", Hint: "use postgres://user:password@host:port/database"}
		}
		for _, p := range kv {
			add(p[0], p[1])
		}
	} else if url != "" {
		parts = append(parts, url)
	}
	// A keyword that comes again wins.
	add("host", o["hostname"])
	add("port", o["port"])
	add("user", o["username"])
	add("password", o["password"])
	add("dbname", o["database"])
	for _, k := range []string{"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword"} {
		add(k, o[k])
	}
	return strings.Join(parts, " "), nil
}

// sessionSettings make every session print values alike, whoever configured the
// server, database or role: the log's text and the snapshot's text must be equal.
// They also take away time-outs that would cut a long read.
var sessionSettings = map[string]string{
	"application_name":                    "freshet",
	"client_encoding":                     "UTF8",
	"datestyle":                           "ISO, YMD",
	"intervalstyle":                       "iso_8601",
	"timezone":                            "UTC",
	"extra_float_digits":                  "3",
	"bytea_output":                        "hex",
	"xmlbinary":                           "base64",
	"lc_monetary":                         "C",
	"search_path":                         "pg_catalog", // names inside values are printed with their schema
	"quote_all_identifiers":               "off",
	"row_security":                        "off", // an error instead of rows that a policy hides
	"statement_timeout":                   "0",
	"lock_timeout":                        "0",
	"idle_in_transaction_session_timeout": "0",
	"idle_session_timeout":                "0",
}

// connect opens an SQL session. The error says plainly what is wrong.
func (c *config) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, c.conn.pg.Copy())
	if err != nil {
		return nil, c.connectError(err, false)
	}
	if v := serverVersion(conn.PgConn()); v < minVersion {
		conn.Close(context.WithoutCancel(ctx))
		return nil, withHint(fmt.Errorf("%w: PostgreSQL %d", ErrServerUnsuitable, v/10000), "PostgreSQL 14 or newer is needed")
	}
	return conn, nil
}

// connectReplication opens a walsender session on the database.
func (c *config) connectReplication(ctx context.Context) (*pgconn.PgConn, error) {
	pg := c.conn.pg.Copy()
	pg.RuntimeParams["replication"] = "database"
	conn, err := pgconn.ConnectConfig(ctx, &pg.Config)
	if err != nil {
		return nil, c.connectError(err, true)
	}
	return conn, nil
}

// isPrimary returns ErrStandby, with the way out, when the session's server is a standby.
func isPrimary(conn *pgx.Conn) error {
	if conn.PgConn().ParameterStatus("in_hot_standby") != "on" {
		return nil
	}
	return withHint(fmt.Errorf("%w, in recovery", ErrStandby),
		"connect to the primary; a url with all hosts and target_session_attrs=read-write finds it, also after a failover")
}

// serverVersion returns server_version as server_version_num has it, for instance 150018.
func serverVersion(conn *pgconn.PgConn) int {
	var major, minor int
	fmt.Sscanf(conn.ParameterStatus("server_version"), "%d.%d", &major, &minor)
	return major*10000 + minor
}

// connectError names the cause of a failed connection and the way out.
func (c *config) connectError(err error, replication bool) error {
	pg := c.conn.pg
	where := fmt.Sprintf("%s, database %q, user %q", net.JoinHostPort(pg.Host, fmt.Sprint(pg.Port)), pg.Database, pg.User)
	wrap := func(msg, hint string) error {
		return withHint(fmt.Errorf("%w (%s): %s", ErrConnect, where, msg), "%s", hint)
	}
	refused := func(msg, hint string) error {
		return withHint(fmt.Errorf("%w (%s): %w: %s", ErrConnect, where, ErrAuthentication, msg), "%s", hint)
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		switch pe.Code {
		case "28P01":
			return refused("wrong password", "check username and password")
		case "28000":
			return refused(pe.Message, "check that the role exists and may log in, and that pg_hba.conf lets it in, for replication too")
		case "3D000":
			return wrap("unknown database", "check database, and the first part of tables")
		case "42501":
			if replication {
				return withHint(fmt.Errorf("%w: %s", ErrPrivilege, pe.Message), "ALTER ROLE %s REPLICATION", quoteIdent(pg.User))
			}
			return withHint(fmt.Errorf("%w: %s", ErrPrivilege, pe.Message), "GRANT CONNECT ON DATABASE %s TO %s", quoteIdent(pg.Database), quoteIdent(pg.User))
		case "53300":
			return wrap("too many connections", "raise max_connections or max_wal_senders, or stop other clients")
		}
		return fmt.Errorf("%w (%s): %w", ErrConnect, where, pe)
	}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return wrap("unknown host "+pg.Host, "check hostname")
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return wrap("no answer in "+c.conn.timeout.String(), "check hostname and port, and that a firewall lets them through")
	case errors.As(err, &op):
		return wrap(op.Err.Error(), "check hostname and port, and that the server runs")
	}
	return fmt.Errorf("%w (%s): %w", ErrConnect, where, err)
}

// quoteIdent quotes an identifier for SQL.
func quoteIdent(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// quoteTable quotes the schema and name of a table for SQL.
func quoteTable(id schema.TableID) string { return quoteIdent(id.Schema) + "." + quoteIdent(id.Table) }

// quoteLiteral quotes a string for SQL with standard_conforming_strings.
func quoteLiteral(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
