package iceberg

import (
	"context"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	sqlcat "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// store is what the sink needs of a catalog; [catalog.Catalog] has it, and tests put
// faults between.
type store interface {
	CreateTable(ctx context.Context, id table.Identifier, sc *iceberggo.Schema, opts ...catalog.CreateTableOpt) (*table.Table, error)
	CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error)
	LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error)
	DropTable(ctx context.Context, id table.Identifier) error
	CreateNamespace(ctx context.Context, ns table.Identifier, props iceberggo.Properties) error
	CheckNamespaceExists(ctx context.Context, ns table.Identifier) (bool, error)
	ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error)
	ListTables(ctx context.Context, ns table.Identifier) iter.Seq2[table.Identifier, error]
}

// openCatalog opens the catalog database and makes its two tables if they are not
// there, as every reader of SQL catalogs expects them. The caller closes the database.
func openCatalog(ctx context.Context, o options) (*sqlcat.Catalog, *sql.DB, error) {
	db, dialect, err := openDatabase(o)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.commitTimeout)
	defer cancel()
	props := iceberggo.Properties{"uri": o.uri, "warehouse": o.warehouse}
	cat, err := func() (*sqlcat.Catalog, error) {
		// NewCatalog can't be given up, so this finds out first whether the database answers.
		if err := db.PingContext(ctx); err != nil {
			return nil, err
		}
		if hasTables(ctx, db) { // to make them again takes a privilege, though it does nothing
			props["init_catalog_tables"] = "false"
		} else if err := ctx.Err(); err != nil {
			return nil, err
		}
		return sqlcat.NewCatalog(o.name, db, dialect, props)
	}()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("iceberg: catalog at %s: %w", redact(o.uri), o.late(ctx, err)), db.Close())
	}
	return cat, db, nil
}

// hasTables says whether the database has the tables of SQL catalogs.
func hasTables(ctx context.Context, db *sql.DB) bool {
	for _, name := range []string{"iceberg_tables", "iceberg_namespace_properties"} {
		rows, err := db.QueryContext(ctx, "SELECT 1 FROM "+name+" WHERE 1 = 0")
		if err != nil || errors.Join(rows.Close(), rows.Err()) != nil {
			return false
		}
	}
	return true
}

// late explains err where the catalog took longer than ctx allowed.
func (o options) late(ctx context.Context, err error) error {
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.As(err, new(*lateError)) {
		return err
	}
	return &lateError{uri: redact(o.uri), timeout: o.commitTimeout, err: err}
}

// lateError is a catalog that did not answer.
type lateError struct {
	uri     string
	timeout time.Duration
	err     error
}

func (e *lateError) Error() string {
	return fmt.Sprintf("the catalog at %s did not answer within %s (option commit.timeout): %v", e.uri, e.timeout, e.err)
}

func (e *lateError) Unwrap() error { return e.err }

// openDatabase opens the database of the uri option, without connecting.
func openDatabase(o options) (*sql.DB, sqlcat.SupportedDialect, error) {
	u, err := url.Parse(o.uri)
	if err != nil {
		return nil, "", errors.New("iceberg: the catalog's uri is none") // the cause would show it
	}
	if u.Scheme != "sqlite" {
		db, err := openPostgres(o.uri, o.commitTimeout)
		return db, sqlcat.Postgres, err
	}
	if err := makeFolder(filepath.Dir(u.Path)); err != nil {
		return nil, "", fmt.Errorf("iceberg: folder of the catalog: %w", err)
	}
	// FULL: a commit that was reported is on disk. immediate: a transaction that is
	// going to write queues at its start and is not turned away in the middle.
	q := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(10000)"}, "_txlock": {"immediate"}}
	// SQLAlchemy, and so PyIceberg, writes an absolute path with four slashes; three mean the same here.
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path.Clean(u.Path)}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, "", fmt.Errorf("iceberg: catalog database: %w", err)
	}
	// Writers of one SQLite file queue up anyway; without this they meet as busy errors.
	db.SetMaxOpenConns(4)
	return db, sqlcat.SQLite, nil
}

// parsePostgres reads the URI of a catalog in PostgreSQL; SQLAlchemy's form, with a
// driver in the scheme, is one.
func parsePostgres(uri string) (*pgx.ConnConfig, error) {
	_, rest, _ := strings.Cut(uri, "://")
	config, err := pgx.ParseConfig("postgres://" + rest)
	if err != nil {
		return nil, &sink.OptionError{Key: optURI, Msg: "it can't be read as a connection URL", Hint: "postgres://user:password@host:port/database; escape special characters of the password as %XX"}
	}
	return config, nil
}

// openPostgres opens a catalog in PostgreSQL, without connecting.
func openPostgres(uri string, timeout time.Duration) (*sql.DB, error) {
	config, err := parsePostgres(uri)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = timeout
	}
	// A connection that died with its server is found before it is used, not by a
	// commit whose outcome would then be unknown.
	alive := stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return true })
	return stdlib.OpenDB(*config, alive), nil
}

// redact hides the password of a URI.
func redact(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "(unreadable uri)"
	}
	return u.Redacted()
}

// identifier is the table's name in the catalog: the namespace is what comes before the
// table, default for a table without any.
func identifier(id schema.TableID) table.Identifier {
	var ident table.Identifier
	for _, part := range []string{id.Namespace, id.Schema} {
		if part != "" {
			ident = append(ident, part)
		}
	}
	if len(ident) == 0 {
		ident = append(ident, "default")
	}
	return append(ident, id.Table)
}

// location is the root of a table's files. Names keep letters, digits, -, _ and .
// as they are; every other byte becomes =XX, so that no name leaves the warehouse
// or means something else inside a URI.
func (o options) location(id schema.TableID) string {
	loc := o.warehouse
	for _, part := range identifier(id) {
		loc += "/" + escapeName(part)
	}
	return loc
}

func escapeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// ensureNamespace makes the table's namespace when it is missing.
func ensureNamespace(ctx context.Context, st store, id table.Identifier) error {
	ns := catalog.NamespaceFromIdent(id)
	if ok, err := st.CheckNamespaceExists(ctx, ns); err != nil || ok {
		return err
	}
	err := st.CreateNamespace(ctx, ns, nil)
	if errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return nil
	}
	return err
}

// isConflict tells that a commit was refused because the table had moved, or because two
// transactions of the catalog got in each other's way. The SQL catalog reports a failed
// requirement as a plain error.
func isConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, table.ErrCommitFailed) || err != nil && strings.Contains(strings.ToLower(err.Error()), "requirement failed") ||
		errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01") // serialization failure, deadlock
}

// isAway tells that the catalog could not be reached, or was busy or shutting down,
// which passes by itself. One that did not answer in time is another matter.
func isAway(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// Connection exceptions, too many connections, the server's shutdown and start.
		return strings.HasPrefix(pg.Code, "08") || pg.Code == "53300" || strings.HasPrefix(pg.Code, "57P0")
	}
	var failed *pgconn.ConnectError
	var network net.Error
	var lite *sqlite.Error
	switch {
	case errors.As(err, &failed):
		return !errors.As(err, new(*x509.CertificateInvalidError)) && !errors.As(err, new(x509.UnknownAuthorityError))
	case errors.As(err, &lite):
		return lite.Code()&0xff == sqliteBusy || lite.Code()&0xff == sqliteLocked
	}
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

// SQLITE_BUSY and SQLITE_LOCKED.
const (
	sqliteBusy   = 5
	sqliteLocked = 6
)
