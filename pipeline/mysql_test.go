package pipeline_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// writeMySQL writes a document for a database, with more lines at the end of its source.
func writeMySQL(t *testing.T, dir, kind string, s *mysqltest.Server, database string, more ...string) string {
	t.Helper()
	text := fmt.Sprintf(`
source:
  type: %s
  hostname: %s
  port: %d
  username: %s
  password: %s
  tables: %s.\.*
  %s
sink:
  type: iceberg
  catalog.properties.type: sql
  catalog.properties.uri: sqlite:///%[8]s/catalog.db
  catalog.properties.warehouse: file://%[8]s/warehouse
pipeline:
  name: test
  execution.checkpointing.interval: 200 ms
  metrics.address: "off"
`, kind, s.Host, s.Port, s.User, s.Password, database, strings.Join(more, "\n  "), dir)
	file := filepath.Join(dir, "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestMySQLPipeline: both types serve both servers, with the documented privileges alone.
func TestMySQLPipeline(t *testing.T) {
	for name, kind := range map[string]string{"MySQL97": "mysql", "MySQL80": "mysql", "MariaDB1011": "mariadb", "MariaDB118": "mysql"} {
		t.Run(name, func(t *testing.T) {
			s := mysqltest.Named(t, name)
			db := mysqltest.Open(t, s)
			db.Exec("CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, status VARCHAR(20), amount DECIMAL(10,2))",
				"INSERT INTO orders (status, amount) VALUES ('new', 1.5), ('new', 2), ('paid', NULL), ('paid', 4)",
				"CREATE TABLE items (order_id BIGINT, line INT, note TEXT, PRIMARY KEY (order_id, line))", "INSERT INTO items VALUES (1, 1, 'a'), (1, 2, NULL)")
			client := "REPLICATION CLIENT ON *.*"
			if s.MariaDB {
				client = "BINLOG MONITOR ON *.*"
			}
			account := s.Account(t, "SELECT ON "+db.Database+".*", "REPLICATION SLAVE ON *.*", client)
			file := writeMySQL(t, t.TempDir(), kind, account, db.Database)
			for range 2 {
				p, _ := open(t, file)
				if err := p.Run(t.Context(), pipeline.RunOptions{UntilCaughtUp: true}); err != nil {
					t.Fatal(err)
				}
				equal(t, p, 2)
				db.Exec("UPDATE orders SET status = 'sent' WHERE id < 3", "DELETE FROM orders WHERE id = 4", "INSERT INTO orders (status) VALUES ('new')",
					"REPLACE INTO items VALUES (2, 1, 'b'), (3, 1, NULL)", "DELETE FROM items WHERE order_id = 1")
			}
		})
	}
}

// TestMySQLOptions: wrong options have their place in the document.
func TestMySQLOptions(t *testing.T) {
	s := &mysqltest.Server{Host: "localhost", Port: 3306, User: "u", Password: "sesame-sesame"}
	for line, says := range map[string]string{
		"scan.startup.mode: newest":                 `test.yaml:9:22: `,
		"jdbc.properties.useSSL: false":             `test.yaml:9:`,
		"slot.name: x":                              `unknown option "slot.name" of source mysql`,
		"scan.startup.timestamp-millis: 1":          "does not go with scan.startup.mode: initial",
		"scan.incremental.snapshot.chunk.size: 0":   "scan.incremental.snapshot.chunk.size",
		"scan.newly-added-table.enabled: yes-or-no": "scan.newly-added-table.enabled",
	} {
		_, err := pipeline.Open(writeMySQL(t, t.TempDir(), "mysql", s, "shop", line), pipeline.Options{})
		var problems document.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestMySQLExample: the example is valid as it stands.
func TestMySQLExample(t *testing.T) {
	p, _ := open(t, filepath.Join("..", "examples", "mysql.yaml"))
	if p.Source.Kind() != "mysql" {
		t.Error(p.Source.Kind())
	}
}
