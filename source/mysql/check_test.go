package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// minimal are the documented privileges.
func minimal(s *mysqltest.Server, database string) []string {
	client := "REPLICATION CLIENT ON *.*"
	if s.MariaDB {
		client = "BINLOG MONITOR ON *.*"
	}
	return []string{"SELECT ON " + database + ".*", "REPLICATION SLAVE ON *.*", client}
}

// hint returns the way out of an error.
func hint(t *testing.T, err error) string {
	t.Helper()
	var h interface{ Hint() string }
	if !errors.As(err, &h) {
		t.Fatalf("no way out: %v", err)
	}
	return h.Hint()
}

func TestCheckPrivileges(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
		all := minimal(s, db.Database)
		src := sourceOf(t, s.Account(t, all...), db.Database)
		if problems := src.Check(t.Context()); len(problems) > 0 {
			t.Fatalf("with the documented privileges: %v", problems)
		}
		tables, err := src.Discover(t.Context())
		if err != nil || len(tables) != 1 {
			t.Fatalf("%v %v", tables, err)
		}
		// What a grant lacks is named by the statement that gives it.
		for missing := range all {
			grants := append([]string{"INSERT ON " + db.Database + ".*"}, all[:missing]...)
			grants = append(grants, all[missing+1:]...)
			account := s.Account(t, grants...)
			src := sourceOf(t, account, db.Database)
			problems := src.Check(t.Context())
			if len(problems) != 1 || !errors.Is(problems[0], ErrPrivilege) {
				t.Errorf("without %s: %v", all[missing], problems)
				continue
			}
			db.Exec(hint(t, problems[0]))
			if problems := src.Check(t.Context()); len(problems) > 0 {
				t.Errorf("after %s: %v", hint(t, problems[0]), problems)
			}
		}
		// Without any privilege a table is not even seen.
		src = sourceOf(t, s.Account(t, all[1:]...), db.Database)
		if problems := src.Check(t.Context()); len(problems) != 1 || !errors.Is(problems[0], ErrNoTables) {
			t.Errorf("%v", problems)
		}
	})
}

func TestCheckEveryStartupMode(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)")
		account := s.Account(t, minimal(s, db.Database)...)
		for _, mode := range []string{"latest-offset", "earliest-offset", "snapshot"} {
			if problems := sourceOf(t, account, db.Database, "scan.startup.mode", mode).Check(t.Context()); len(problems) > 0 {
				t.Errorf("%s: %v", mode, problems)
			}
		}
		problems := sourceOf(t, account, db.Database, "scan.startup.mode", "specific-offset", "scan.startup.specific-offset.file", "nowhere.000001").Check(t.Context())
		if len(problems) != 1 || !errors.Is(problems[0], ErrPlace) {
			t.Errorf("%v", problems)
		}
	})
}

func TestCheckLogin(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		account := s.Account(t)
		account.Password = "wrong-never-show"
		problems := sourceOf(t, account, "x").Check(t.Context())
		if len(problems) != 1 || !errors.Is(problems[0], ErrAuthentication) || !errors.Is(problems[0], ErrConnect) || strings.Contains(problems[0].Error(), account.Password) {
			t.Errorf("%v", problems)
		}
		gone := *s
		gone.Port = 1
		problems = sourceOf(t, &gone, "x", "connect.max-retries", "0").Check(t.Context())
		if len(problems) != 1 || !errors.Is(problems[0], ErrConnect) || errors.Is(problems[0], ErrAuthentication) {
			t.Errorf("%v", problems)
		}
	})
}

// TestCheckSettings: servers that are set up in another way than is needed.
func TestCheckSettings(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		options  []string
		kind     error
		says     []string // a problem each
	}{
		{name: "MySQL97", settings: []string{"gtid-mode=OFF", "enforce-gtid-consistency=OFF", "server-id=0", "binlog-ignore-db=shop"}, kind: ErrServerUnsuitable,
			says: []string{"gtid_mode is OFF", "server_id is 0", "database shop is not written"}},
		{name: "MySQL97", settings: []string{"gtid-mode=OFF", "enforce-gtid-consistency=OFF"}, options: []string{"scan.snapshot.accept-without-gtid", "true"}},
		{name: "MySQL97", settings: []string{"gtid-mode=OFF", "enforce-gtid-consistency=OFF"}, options: []string{"scan.startup.mode", "latest-offset"}},
		{name: "MySQL97", settings: []string{"binlog-row-image=MINIMAL", "binlog-row-value-options=PARTIAL_JSON"}, kind: ErrServerUnsuitable, says: []string{"PARTIAL_JSON"}},
		{name: "MySQL97", settings: []string{"binlog-row-image=MINIMAL", "binlog-expire-logs-seconds=60"}},
		{name: "MySQL80", settings: []string{"binlog-format=STATEMENT", "binlog-do-db=other"}, kind: ErrServerUnsuitable, says: []string{"binlog_format is STATEMENT", "database shop is not written"}},
		{name: "MariaDB1011", settings: []string{"binlog-format=MIXED"}, kind: ErrServerUnsuitable, says: []string{"binlog_format is MIXED"}},
		{name: "MariaDB118", settings: []string{"skip-log-bin"}, kind: ErrServerUnsuitable, says: []string{"log_bin is OFF"}},
	} {
		t.Run(c.name+" "+strings.Join(append(c.settings, c.options...), " "), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Private(t, c.name, c.settings...)
			s.Connect(t).Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
			problems := sourceOf(t, s.Server, "shop", c.options...).Check(t.Context())
			if len(problems) != len(c.says) {
				t.Fatalf("%d problems: %v", len(problems), problems)
			}
			for i, p := range problems {
				if !strings.Contains(p.Error(), c.says[i]) || !errors.Is(p, c.kind) && !errors.Is(p, ErrNoGTID) || hint(t, p) == "" {
					t.Errorf("%v, want %q", p, c.says[i])
				}
			}
		})
	}
}

// register makes a session a replica called host.
func register(t *testing.T, s *mysqltest.Session, id uint32, host string) {
	t.Helper()
	p := binary.LittleEndian.AppendUint32([]byte{0, 0, 0, 0, 0x15}, id)
	p = append(append(p, byte(len(host))), host...)
	p = append(p, make([]byte, 1+1+2+4+4)...)
	s.Conn.ResetSequence()
	if err := s.Conn.WritePacket(p); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Conn.ReadOKPacket(); err != nil {
		t.Fatal(err)
	}
}

func TestServerID(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		src := sourceOf(t, s, "x", "server-id", "3999999990-3999999991")
		conn, srv := open(t, src.cfg)
		choose := func(uuid string) uint32 {
			t.Helper()
			id, err := src.cfg.chooseServerID(t.Context(), conn, srv, uuid)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		if id := choose("a"); id != 3999999990 {
			t.Errorf("the first of the range: %d", id)
		}
		if s.Name == "MySQL80" {
			return // it is not asked for its replicas
		}
		// A replica that is not ours has it.
		register(t, s.Connect(t), 3999999990, "elsewhere")
		if id := choose("a"); id != 3999999991 {
			t.Errorf("the second of the range: %d", id)
		}
		src.cfg.lastID = src.cfg.firstID
		if _, err := src.cfg.chooseServerID(t.Context(), conn, srv, "a"); !errors.Is(err, ErrServerID) {
			t.Errorf("taken: %v", err)
		}
		src.cfg.firstID, src.cfg.lastID = 1, 1
		if _, err := src.cfg.chooseServerID(t.Context(), conn, srv, "a"); !errors.Is(err, ErrServerID) || !strings.Contains(err.Error(), "the server itself") {
			t.Errorf("the server's own: %v", err)
		}
		src.cfg.firstID = 0
		if a, b := choose(""), choose(""); a == b || a < 1<<31 {
			t.Errorf("random: %d %d", a, b)
		}
	})
}

func TestDiscover(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE a (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'number', name VARCHAR(10) CHARACTER SET latin1 DEFAULT 'it''s \\\\ \"x\"', "+
			"price DECIMAL(10,2) NOT NULL DEFAULT 1.50, at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), up VARCHAR(10) GENERATED ALWAYS AS (UPPER(name)) VIRTUAL, "+
			"kind ENUM('x','y') DEFAULT 'y', nothing INT DEFAULT NULL, bits BIT(3) DEFAULT b'101') DEFAULT CHARSET utf8mb4 COMMENT 'goods'",
			"CREATE TABLE b (x INT, y INT)",
			"CREATE TABLE c (x INT NOT NULL, y INT NOT NULL, z INT, UNIQUE zz (z), UNIQUE yy (y, x), UNIQUE xx (x))",
			"CREATE TABLE d (x INT NOT NULL PRIMARY KEY, KEY (x)) PARTITION BY HASH (x) PARTITIONS 4",
			"CREATE TABLE e (x INT PRIMARY KEY) ENGINE=MyISAM",
			"CREATE VIEW v AS SELECT * FROM a",
			"CREATE TEMPORARY TABLE tmp (x INT PRIMARY KEY)",
			"INSERT INTO a (name) VALUES ('a'), ('b')")
		if s.MariaDB {
			db.Exec("CREATE SEQUENCE s", "CREATE TABLE f (x INT PRIMARY KEY, y INT) WITH SYSTEM VERSIONING",
				"CREATE TABLE g (x INT PRIMARY KEY, b TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME(b, e)) WITH SYSTEM VERSIONING")
		}
		src := sourceOf(t, s, db.Database)
		tables, err := src.Discover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, tab := range tables {
			fmt.Fprintf(&got, "%s(%s) %d notes\n", tab.Schema.ID.Table, strings.Join(tab.Schema.PrimaryKey, ","), len(tab.Notes))
		}
		want := "a(id) 0 notes\n"
		if s.Name == "MariaDB118" {
			want = "a(id) 1 notes\n" // a generated column
		}
		want += "b() 1 notes\nc(y,x) 0 notes\nd(x) 0 notes\ne(x) 1 notes\n"
		if s.MariaDB {
			want += "f(x) 1 notes\ng(x) 1 notes\n"
		}
		if got.String() != want {
			t.Errorf("tables\n%swant\n%s", got.String(), want)
		}
		checkColumns(t, tables[0].Schema)
		if tables[0].Rows != 2 || tables[0].Bytes <= 0 || tables[0].Chunks != 1 {
			t.Errorf("%d rows, %d bytes, %d chunks", tables[0].Rows, tables[0].Bytes, tables[0].Chunks)
		}
	})
}

func checkColumns(t *testing.T, tab *schema.Table) {
	t.Helper()
	want := map[string]string{"name": `it's \ "x"`, "price": "1.50", "kind": "y", "bits": "b'101'"}
	for _, c := range tab.Columns {
		switch d, ok := want[c.Name]; {
		case ok && (c.Default == nil || *c.Default != d):
			t.Errorf("default of %s: %v", c.Name, c.Default)
		case c.Name == "nothing" && c.Default != nil, c.Name == "id" && c.Default != nil:
			t.Errorf("default of %s: %q", c.Name, *c.Default)
		case c.Name == "at" && (c.Default == nil || !strings.Contains(strings.ToUpper(*c.Default), "CURRENT_TIMESTAMP(3)")):
			t.Errorf("default of at: %v", c.Default)
		}
	}
	if id, _ := tab.Column("id"); id.Comment != "number" || id.Nullable || tab.Comment != "goods" {
		t.Errorf("%+v, comment %q", id, tab.Comment)
	}
	if name, _ := tab.Column("name"); name.Source.Charset != "latin1" || name.Source.Length != 10 {
		t.Errorf("%+v", name.Source)
	}
}

func TestRows(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY, v MEDIUMTEXT)", "INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, REPEAT('x', 100000))")
		src := sourceOf(t, s.Account(t, minimal(s, db.Database)...), db.Database)
		tables, err := src.Discover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before, err := startOf(t, src.cfg)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		pos, err := src.Rows(t.Context(), tables[0].Schema, func(b *schema.Batch) error {
			rows += b.Rows()
			return nil
		})
		if err != nil || rows != 3 {
			t.Fatalf("%d rows, %v", rows, err)
		}
		files, err := src.cfg.names.of(before.Place.File)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := files.Position(before.Place); err != nil || pos < at {
			t.Errorf("position %s before %s, %v", files.Format(pos), before.Place, err)
		}
		mine := errors.New("mine")
		if _, err := src.Rows(t.Context(), tables[0].Schema, func(*schema.Batch) error { return mine }); !errors.Is(err, mine) {
			t.Errorf("%v", err)
		}
		db.Exec("DROP TABLE t")
		if _, err := src.Rows(t.Context(), tables[0].Schema, func(*schema.Batch) error { return nil }); err == nil {
			t.Error("a table that is gone was read")
		}
	})
}
