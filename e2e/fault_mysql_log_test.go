package e2e

import (
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestFaultMySQLPurged removes binlog that a stopped pipeline still needs; what it
// has read already may go.
func TestFaultMySQLPurged(t *testing.T) {
	ownMySQL(t, nil, func(t *testing.T, own *mysqltest.PrivateServer, db *mysqltest.DB) {
		change := mysqlOrders(t, db)
		p := newPipeline(t, "fault-purged", db.URL(), nil)
		purge := func() {
			t.Helper()
			db.Exec("FLUSH BINARY LOGS")
			// MariaDB keeps files for a moment in which it might recover from them.
			eventually(t, "the server keeps its newest file alone", runTimeout, func() bool {
				db.Exec("PURGE BINARY LOGS TO '" + newestBinlog(db.Session) + "'")
				return len(db.Query("SHOW BINARY LOGS")) == 1
			})
		}
		catchUp(t, p)
		change()
		catchUp(t, p)
		purge() // it has read all of that
		change()
		catchUp(t, p)
		equal(t, p, db.Database+".orders")
		change()
		purge()
		change()
		fails(t, p, "purged", "binlog_expire_logs_seconds")
	})
}

// TestFaultMySQLReset makes the server forget its binlog: the new one has the old
// names, and in the end more bytes than the old one had.
func TestFaultMySQLReset(t *testing.T) {
	for _, after := range []string{"at once", "when it is as long"} {
		t.Run(strings.ReplaceAll(after, " ", "-"), func(t *testing.T) {
			ownMySQL(t, nil, func(t *testing.T, own *mysqltest.PrivateServer, db *mysqltest.DB) {
				change := mysqlOrders(t, db)
				p := newPipeline(t, "fault-reset", db.URL(), nil)
				catchUp(t, p)
				change()
				catchUp(t, p)
				if own.Name == "MySQL97" {
					db.Exec("RESET BINARY LOGS AND GTIDS")
				} else {
					db.Exec("RESET MASTER")
				}
				for range 10 {
					if after != "at once" {
						change()
					}
				}
				fails(t, p, "reset", "checkpoint")
			})
		})
	}
}

// TestFaultMySQLStatementFormat changes rows by statements that the binlog has as
// text: in another table that is nobody's business, in a captured one the pipeline
// has to stop.
func TestFaultMySQLStatementFormat(t *testing.T) {
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		mysqlOrders(t, db)
		db.Exec("CREATE TABLE other (id int PRIMARY KEY, v int)")
		p := newPipeline(t, "fault-statement", db.URL(), func(p *process.Pipeline) { p.Tables = db.Database + ".orders" })
		catchUp(t, p)
		db.Exec("SET SESSION binlog_format = 'STATEMENT'", "INSERT INTO other VALUES (1, 1)", "UPDATE other SET v = 2")
		catchUp(t, p)
		equal(t, p, db.Database+".orders")
		db.Exec("UPDATE orders SET v = 'by a statement' WHERE id < 10")
		fails(t, p, "statement", db.Database+".orders", "binlog_format")
	})
}

// TestFaultMySQLMinimalImage leaves columns out of the binlog: the sink fills them in
// from the row that it has, in both modes. Where it has none, for the key is a new one,
// the pipeline stops. It never writes NULL.
func TestFaultMySQLMinimalImage(t *testing.T) {
	ownMySQL(t, []string{"binlog-row-image=MINIMAL"}, func(t *testing.T, own *mysqltest.PrivateServer, db *mysqltest.DB) {
		db.Exec("CREATE TABLE orders (id int PRIMARY KEY, v varchar(20), n int, b blob)", "INSERT INTO orders VALUES (1, 'one', 1, 'x'), (2, 'two', 2, 'y'), (3, 'three', NULL, NULL)")
		upsert := newPipeline(t, "fault-image-upsert", db.URL(), nil)
		appended := newPipeline(t, "fault-image-append", db.URL(), func(p *process.Pipeline) { p.Sink["write.mode"] = "append" })
		catchUp(t, upsert)
		catchUp(t, appended)
		db.Exec("UPDATE orders SET v = 'uno' WHERE id = 1", "INSERT INTO orders (id, n) VALUES (4, 4)", "UPDATE orders SET v = NULL WHERE id = 2", "DELETE FROM orders WHERE id = 3",
			"SET SESSION binlog_row_image = 'NOBLOB'", "UPDATE orders SET n = 20 WHERE id = 2")
		catchUp(t, upsert)
		equal(t, upsert, db.Database+".orders")
		catchUp(t, appended)
		equalChangelogs(t, appended, db.Database+".orders")
		db.Exec("UPDATE orders SET id = 5 WHERE id = 1") // there is no old row under the new key
		fails(t, upsert, "orders", "binlog_row_image")
	})
}

// TestFaultMySQLServerID runs two pipelines under one server id: the server talks
// to one of them alone, and the other says why it waits. None may lose anything.
func TestFaultMySQLServerID(t *testing.T) {
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		change := mysqlOrders(t, db)
		var runs []*process.Process
		var pipelines []process.Pipeline
		for _, name := range []string{"fault-id-one", "fault-id-two"} {
			p := newPipeline(t, name, db.URL(), func(p *process.Pipeline) { p.Source["server-id"] = "47110815" })
			pipelines = append(pipelines, p)
			runs = append(runs, start(t, p))
			eventually(t, "first commit or an end", runTimeout, func() bool {
				return manifestLists(p) > 0 || strings.Contains(runs[len(runs)-1].Output(), "server-id")
			})
			change()
		}
		eventually(t, "one of them says what is wrong", runTimeout, func() bool {
			if db.Name == "MySQL80" {
				return true // it tells replicas apart by their UUID alone, and serves both
			}
			for _, run := range runs {
				if out := run.Output(); strings.Contains(out, "level=ERROR") && strings.Contains(out, "server-id") {
					return true
				}
			}
			return false
		})
		for _, run := range runs {
			run.Kill()
			run.Wait()
		}
		change()
		for _, p := range pipelines {
			p.Source["server-id"] = ""
			if err := p.Write(); err != nil {
				t.Fatal(err)
			}
			catchUp(t, p)
			equal(t, p, db.Database+".orders")
		}
	})
}

// TestFaultMySQLValue writes values that a type can't hold: the pipeline stops with
// table, row and option, and nothing behind is lost once the option says what to do.
func TestFaultMySQLValue(t *testing.T) {
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		db.Exec("CREATE TABLE spans (id int PRIMARY KEY, span time, day date NULL)", "INSERT INTO spans VALUES (1, '10:00:00', '2026-01-01')")
		p := newPipeline(t, "fault-value", db.URL(), func(p *process.Pipeline) { p.Source["zero-dates"] = "error" })
		catchUp(t, p)
		db.Exec("INSERT INTO spans VALUES (4711, '-30:00:00', NULL), (4712, '11:00:00', NULL)")
		fails(t, p, "spans", "4711", "time.mode")
		p.Source["time.mode"] = "time-or-null"
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		db.Exec("SET SESSION sql_mode = ''", "INSERT INTO spans VALUES (4713, NULL, '2026-02-28'), (4714, NULL, '0000-00-00')")
		db.Exec("UPDATE spans SET span = NULL WHERE id = 4711")
		fails(t, p, "spans", "4714", "zero-dates")
		p.Source["zero-dates"] = "null"
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		catchUp(t, p)
		db.Exec("UPDATE spans SET day = NULL WHERE id >= 4711")
		catchUp(t, p)
		equal(t, p, db.Database+".spans")
	})
}
