package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
	"github.com/go-mysql-org/go-mysql/client"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/e2e/workload"
)

// kind is a source that a crash run takes.
type kind struct {
	// versions of the server; the first is the default.
	versions []string
	settings []string
	// start starts a server and returns the URL of its database.
	start func(ctx context.Context, version, instance string, settings []string) (*servers.Server, string, error)
	// tables selects all tables of that database.
	tables   string
	workload func(version string) workload.Config
	// purge removes all of the log but its end; nil where a pipeline's own position does.
	purge func(ctx context.Context, address string) error
	// source connects for the comparison.
	source func(ctx context.Context, address string) (readers.Source, func(), error)
}

// kinds are the sources by their name on the command line.
var kinds = map[string]kind{
	"postgres": {
		versions: []string{"15", "18"}, settings: []string{"max_wal_size=4GB"}, tables: `public.\.*`,
		start: startPostgres, source: postgresSource,
		workload: func(string) workload.Config { return workload.Config{} },
	},
	// Small binlog files, so that the run sees many of them.
	"mysql": {
		versions: []string{"9.7", "8.0"}, settings: []string{"max-binlog-size=2M"}, tables: `shop.\.*`,
		start: startMySQL("mysql"), source: mysqlSource, purge: purgeMySQL, workload: mysqlWorkload,
	},
	"mariadb": {
		versions: []string{"11.8", "10.11"}, settings: []string{"max-binlog-size=2M", "log-bin-compress=ON"}, tables: `shop.\.*`,
		start: startMySQL("mariadb"), source: mysqlSource, purge: purgeMySQL,
		workload: func(string) workload.Config { return workload.Config{XA: true} },
	},
}

func startPostgres(ctx context.Context, version, instance string, settings []string) (*servers.Server, string, error) {
	server, err := servers.StartPostgres(ctx, version, instance, settings...)
	if err != nil {
		return nil, "", err
	}
	return server, server.URL, nil
}

func postgresSource(ctx context.Context, address string) (readers.Source, func(), error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	return readers.Postgres(conn), func() { conn.Close(context.WithoutCancel(ctx)) }, nil
}

func startMySQL(name string) func(ctx context.Context, version, instance string, settings []string) (*servers.Server, string, error) {
	return func(ctx context.Context, version, instance string, settings []string) (*servers.Server, string, error) {
		server, err := servers.StartMySQL(ctx, name+strings.ReplaceAll(version, ".", ""), instance, settings...)
		if err != nil {
			return nil, "", err
		}
		conn, err := connectMySQL(ctx, server.URL)
		if err == nil {
			defer conn.Close()
			_, err = conn.Execute("CREATE DATABASE shop")
		}
		if err != nil {
			return nil, "", errors.Join(err, server.Wipe())
		}
		return server, server.URL + "shop", nil
	}
}

func mysqlSource(ctx context.Context, address string) (readers.Source, func(), error) {
	conn, err := connectMySQL(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	return readers.MySQL(conn), func() { conn.Close() }, nil
}

func purgeMySQL(ctx context.Context, address string) error {
	conn, err := connectMySQL(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Execute("FLUSH BINARY LOGS"); err != nil {
		return err
	}
	files, err := conn.Execute("SHOW BINARY LOGS")
	if err != nil {
		return err
	}
	newest, err := files.GetString(files.RowNumber()-1, 0)
	if err == nil {
		_, err = conn.Execute("PURGE BINARY LOGS TO '" + newest + "'")
	}
	return err
}

func connectMySQL(ctx context.Context, address string) (*client.Conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	return client.ConnectWithContext(ctx, u.Host, u.User.Username(), password, strings.TrimPrefix(u.Path, "/"), finishTimeout)
}

// mysqlWorkload lets half of the connections compress their transactions, where
// the server can, and all of them log changes of JSON alone. Transactions in two
// phases survive a crash from 8.0.30 on.
func mysqlWorkload(version string) workload.Config {
	c := workload.Config{Session: []string{"SET SESSION binlog_row_value_options = PARTIAL_JSON"}}
	if version != "8.0" {
		c.XA = true
		c.Session = append(c.Session, "SET SESSION binlog_transaction_compression = CONNECTION_ID() % 2")
	}
	return c
}

// database is the server of a run, and the proxy through which pipelines reach it.
type database struct {
	kind
	server *servers.Server
	url    string
	api    *servers.Server
	proxy  *toxiproxy.Proxy
	broker *servers.Server // nil where no sink needs one
}

// startDatabase starts the server and the proxy. The caller wipes them.
func startDatabase(ctx context.Context, c config) (*database, error) {
	d := &database{kind: kinds[c.source]}
	if !slices.Contains(d.versions, c.server) {
		return nil, fmt.Errorf("there is no %s %s, only %s", c.source, c.server, strings.Join(d.versions, " and "))
	}
	instance := fmt.Sprintf("crash-%d", os.Getpid())
	var err error
	if d.server, d.url, err = d.start(ctx, c.server, instance, d.settings); err != nil {
		return nil, err
	}
	if c.sink == "kafka" {
		if d.broker, err = servers.StartKafka(ctx, instance); err != nil {
			d.wipe()
			return nil, err
		}
	}
	if d.api, err = servers.StartToxiproxy(ctx, instance); err == nil {
		var u *url.URL
		if u, err = url.Parse(d.url); err == nil {
			d.proxy, err = toxiproxy.NewClient(d.api.URL).CreateProxy("database", "127.0.0.1:0", u.Host)
		}
	}
	if err != nil {
		d.wipe()
		return nil, err
	}
	return d, nil
}

func (d *database) wipe() {
	d.server.Wipe()
	for _, s := range []*servers.Server{d.api, d.broker} {
		if s != nil {
			s.Wipe()
		}
	}
}

// proxyPort is the port that pipelines connect to.
func (d *database) proxyPort() string {
	return d.proxy.Listen[strings.LastIndex(d.proxy.Listen, ":")+1:]
}
