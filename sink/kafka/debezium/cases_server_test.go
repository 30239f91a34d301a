package debezium_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/postgres"
)

func openServer(t *testing.T, kind string) server {
	if kind == "mysql" {
		return openMySQL(t)
	}
	return openPostgres(t)
}

type mysqlServer struct {
	db   *mysqltest.DB
	conn *client.Conn
}

func openMySQL(t *testing.T) *mysqlServer {
	db := mysqltest.Open(t, mysqltest.Named(t, "mysql97"))
	conn, err := client.Connect(db.Addr(), db.User, db.Password, db.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &mysqlServer{db: db, conn: conn}
	if err := m.exec([]string{"SET NAMES utf8mb4", "SET time_zone='+00:00'", "ALTER DATABASE " + db.Database + " CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"}); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *mysqlServer) exec(statements []string) error {
	for _, s := range statements {
		if _, err := m.conn.Execute(s); err != nil {
			return fmt.Errorf("%.100s: %w", s, err)
		}
	}
	return nil
}

func (m *mysqlServer) position() (uint64, error) {
	r, err := m.conn.Execute("SHOW BINARY LOG STATUS")
	if err != nil {
		return 0, err
	}
	defer r.Close()
	file, err := r.GetString(0, 0)
	if err != nil {
		return 0, err
	}
	offset, err := r.GetUint(0, 1)
	if err != nil {
		return 0, err
	}
	return binlog.Files{Base: "binlog"}.Position(binlog.Place{File: file, Offset: offset})
}

func (m *mysqlServer) source(options map[string]string) (source.Source, error) {
	opts := map[string]string{"hostname": m.db.Host, "port": fmt.Sprint(m.db.Port), "username": m.db.User, "password": m.db.Password, "tables": "x",
		"heartbeat.interval": "200ms", "scan.snapshot.parallelism": "1", "server-time-zone": "UTC", "scan.binlog.newly-added-table.enabled": "true"}
	for k, v := range options {
		opts[k] = v
	}
	return mysql.New(opts, func(id schema.TableID) bool { return id.Schema == m.db.Database }, logger())
}

func (m *mysqlServer) id(id schema.TableID) schema.TableID {
	id.Schema = "vec"
	return id
}

// logger is silent unless TEST_LOG is set.
func logger() *slog.Logger {
	var w io.Writer = io.Discard
	if os.Getenv("TEST_LOG") != "" {
		w = os.Stderr
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

type postgresServer struct {
	url  string
	name string
	conn *pgx.Conn
}

var databases atomic.Int64

func openPostgres(t *testing.T) *postgresServer {
	url := os.Getenv("FRESHET_PG15_URL")
	if url == "" {
		t.Fatal("FRESHET_PG15_URL is not set")
	}
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("debezium_%d_%d", os.Getpid(), databases.Add(1))
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'"); err != nil {
		t.Fatal(err)
	}
	p := &postgresServer{url: strings.Replace(url, "/postgres?", "/"+name+"?", 1), name: name}
	t.Cleanup(func() {
		ctx := context.Background()
		defer admin.Close(ctx)
		if p.conn != nil {
			_ = p.conn.Close(ctx)
		}
		drop := func() error { // the server may not know yet that the reader is gone
			if _, err := admin.Exec(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = $1", name); err != nil {
				return err
			}
			_, err := admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
			return err
		}
		err := drop()
		for begun := time.Now(); err != nil && time.Since(begun) < 10*time.Second; err = drop() {
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if p.conn, err = pgx.Connect(t.Context(), p.url); err != nil {
		t.Fatal(err)
	}
	if err := p.exec([]string{"SET timezone = 'UTC'"}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *postgresServer) exec(statements []string) error {
	for _, s := range statements {
		if _, err := p.conn.PgConn().Exec(context.Background(), s).ReadAll(); err != nil {
			return fmt.Errorf("%.100s: %w", s, err)
		}
	}
	return nil
}

func (p *postgresServer) position() (lsn uint64, err error) {
	var text string
	if err := p.conn.QueryRow(context.Background(), "SELECT pg_current_wal_flush_lsn()::text").Scan(&text); err != nil {
		return 0, err
	}
	var high, low uint64
	_, err = fmt.Sscanf(text, "%X/%X", &high, &low)
	return high<<32 | low, err
}

func (p *postgresServer) source(options map[string]string) (source.Source, error) {
	opts := map[string]string{"url": p.url, "tables": "x", "slot.name": p.name, "scan.snapshot.parallelism": "1", "heartbeat.interval": "100ms"}
	for k, v := range options {
		opts[k] = v
	}
	return postgres.New(opts, func(id schema.TableID) bool { return id.Schema != "pg_catalog" && id.Schema != "information_schema" }, logger())
}

func (p *postgresServer) id(id schema.TableID) schema.TableID { return id }
