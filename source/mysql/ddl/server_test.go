package ddl

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// serverCase follows the statements of a session on a real server: what the binlog
// has of them goes into a catalogue, which is compared with the server's own.
type serverCase struct {
	t         *testing.T
	s         *mysqltest.Session
	c         *Catalog
	databases []string
	file      string
	pos       int
	st        Statement // what the session sets
	log       []string  // what was executed since the start
	compared  *Catalog  // by the last compare
	learned   int       // definitions that were lost
}

// newServerCase makes n databases of the test's own.
func newServerCase(t *testing.T, server *mysqltest.Server, n int) *serverCase {
	c := &serverCase{t: t}
	for range n {
		db := mysqltest.Open(t, server)
		c.databases, c.s = append(c.databases, db.Database), db.Session
	}
	c.s.Exec("SET NAMES utf8mb4", "SET SESSION lock_wait_timeout = 20", "SET SESSION foreign_key_checks = 0")
	o := Options{MariaDB: server.MariaDB, Version: versionOf(c.s.Value("SELECT version()")), ServerCollation: c.s.Value("SELECT @@global.collation_server")}
	if o.MariaDB && o.Version >= 110200 {
		o.CharsetCollations = c.s.Value("SELECT @@global.character_set_collations")
	}
	o.Value.MariaDB = o.MariaDB
	var databases []Database
	for _, name := range c.databases {
		row := c.s.Query("SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = '" + name + "'")[0]
		databases = append(databases, Database{Name: name, Charset: collation.Canonical(row[0]), Collation: collation.Canonical(row[1]), Complete: true})
	}
	c.c = NewCatalog(o, databases, nil)
	c.st.Database = c.databases[len(c.databases)-1]
	c.setMode("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", modeStrictTrans)
	c.events()
	return c
}

// versionOf turns 9.7.4-2 or 10.11.18-MariaDB into the number that the server calls itself.
func versionOf(text string) int {
	text, _, _ = strings.Cut(text, "-")
	n := 0
	for part := range strings.SplitSeq(text, ".") {
		v, _ := strconv.Atoi(part)
		n = n*100 + v
	}
	return n
}

func (c *serverCase) setMode(names string, bits uint64) {
	c.s.Exec("SET SESSION sql_mode = '" + names + "'")
	c.st.SQLMode = bits
}

// run executes a statement, which may fail, and applies what the binlog has of it.
func (c *serverCase) run(sql string) (effects []Effect, err error) {
	c.t.Helper()
	c.log = append(c.log, sql)
	result, err := c.s.Conn.Execute(sql)
	if err == nil {
		result.Close()
	}
	for _, e := range c.events() {
		st := c.st
		st.SQL, st.Database = e.sql, e.database
		c.st.Position++
		next, f, applyErr := c.c.Apply(st)
		if applyErr != nil {
			c.t.Fatalf("%s: %v", e.sql, applyErr)
		}
		c.c, effects = next, append(effects, f...)
		for _, x := range f {
			if x.Kind == Unknown {
				c.learn(x)
			}
		}
	}
	return effects, err
}

// learn reads a definition that was lost from the server. That is for statements
// that make no sense to anybody, like ADD a, MODIFY a, DROP a in one.
func (c *serverCase) learn(x Effect) {
	c.t.Helper()
	c.t.Logf("learned again: %v", x.Err)
	if c.learned++; c.learned > 2+len(c.log)/100 {
		c.fail("too many definitions were lost, the last one: %v", x.Err)
	}
	c.c, _ = c.c.Learn(c.defined(x.Table), c.st.Position)
}

// defined reads a definition from SHOW CREATE TABLE.
func (c *serverCase) defined(id schema.TableID) Definition {
	c.t.Helper()
	st := c.st
	st.SQL, st.Database = c.s.Query(fmt.Sprintf("SHOW CREATE TABLE `%s`.`%s`", id.Schema, id.Table))[0][1], id.Schema
	d, err := Define(st, c.c)
	if err != nil {
		c.fail("%v", err)
	}
	return d
}

type loggedStatement struct{ database, sql string }

// events returns the statements that the binlog has got since the last call and that
// are about the test's databases.
func (c *serverCase) events() []loggedStatement {
	if c.file == "" {
		status := "SHOW MASTER STATUS"
		if !c.c.o.MariaDB && c.c.o.Version >= 80200 {
			status = "SHOW BINARY LOG STATUS"
		}
		row := c.s.Query(status)[0]
		c.file = row[0]
		c.pos, _ = strconv.Atoi(row[1])
		return nil
	}
	var out []loggedStatement
	for {
		rows := c.s.Query(fmt.Sprintf("SHOW BINLOG EVENTS IN '%s' FROM %d", c.file, c.pos))
		rotated := false
		for _, r := range rows {
			if n, _ := strconv.Atoi(r[4]); n > 0 {
				c.pos = n
			}
			if r[2] == "Rotate" {
				c.file, _, _ = strings.Cut(r[5], ";")
				c.pos, rotated = 4, true
			}
			if r[2] == "Query" {
				out = c.logged(out, r[5])
			}
		}
		if !rotated {
			return out
		}
	}
}

func (c *serverCase) logged(out []loggedStatement, info string) []loggedStatement {
	database := ""
	if rest, ok := strings.CutPrefix(info, "use `"); ok {
		database, info, _ = strings.Cut(rest, "`; ")
	}
	info = strings.TrimPrefix(info, "set foreign_key_checks=0; ") // how MariaDB shows a flag of the event
	for _, name := range c.databases {
		if database == name || strings.Contains(info, name) {
			return append(out, loggedStatement{database, info})
		}
	}
	return out
}

// compare compares the catalogue with the server: the names of all tables, and the
// definitions that the catalogue changed since the last time, or all of them.
func (c *serverCase) compare(all bool) {
	c.t.Helper()
	for _, name := range c.databases {
		var server []string
		for _, r := range c.s.Query("SELECT table_name FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') AND table_schema = '" + name + "' ORDER BY BINARY table_name") {
			server = append(server, r[0])
		}
		var own []string
		for _, d := range c.c.Tables(name) {
			own = append(own, d.ID.Table)
		}
		sort.Strings(own)
		if strings.Join(server, " ") != strings.Join(own, " ") {
			c.fail("database %s has the tables %v, the catalogue %v", name, server, own)
		}
		for _, table := range own {
			id := schema.TableID{Schema: name, Table: table}
			d, _ := c.c.Definition(id)
			if c.compared != nil && !all {
				if was, _ := c.compared.Definition(id); was == d {
					continue
				}
			}
			c.compareTable(id)
		}
	}
	c.compared = c.c
}

func (c *serverCase) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("%s\n%s", strings.Join(c.log[max(0, len(c.log)-40):], ";\n"), fmt.Sprintf(format, args...))
}
