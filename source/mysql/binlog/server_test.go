package binlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// place asks the server where its log ends.
func place(t testing.TB, s *mysqltest.Session, mariadb bool) (Place, *GTIDSet) {
	t.Helper()
	sql := "SHOW MASTER STATUS"
	if !mariadb && strings.HasPrefix(s.Value("SELECT VERSION()"), "9") {
		sql = "SHOW BINARY LOG STATUS"
	}
	row := s.Query(sql)[0]
	offset, err := strconv.ParseUint(row[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	gtids := ""
	if mariadb {
		gtids = s.Value("SELECT @@gtid_binlog_pos")
	} else {
		gtids = s.Value("SELECT @@gtid_executed")
	}
	return Place{row[0], offset}, mustSet(t, strings.ReplaceAll(gtids, "\n", ""))
}

var nextServerID uint32 = 70_000

// serverOptions begin where the server's log ends, in a database that is empty.
func serverOptions(t testing.TB, db *mysqltest.DB) Options {
	t.Helper()
	o := Options{Values: value.Options{MariaDB: db.MariaDB, Time: value.TimeText}, Heartbeat: 200 * time.Millisecond,
		Captured:       func(id schema.TableID) bool { return id.Schema == db.Database && !strings.HasPrefix(id.Table, "x_") },
		KeylessUpdates: true, ResolvesUnchanged: true, Before: true}
	nextServerID++
	o.ServerID = nextServerID
	version := 80015
	if db.Name == "MySQL97" {
		version = 90704
	}
	switch db.Name {
	case "MariaDB1011":
		version = 101118
	case "MariaDB118":
		version = 110809
	}
	o.Catalog = ddl.NewCatalog(ddl.Options{MariaDB: db.MariaDB, Version: version, ServerCollation: db.Value("SELECT @@collation_server"), OmitsUnchanged: true, Value: o.Values},
		[]ddl.Database{{Name: db.Database, Charset: "utf8mb4", Collation: db.Value("SELECT @@collation_database"), Complete: true}}, nil)
	o.Start, o.GTIDs = place(t, db.Session, db.MariaDB)
	return o
}

// openStream connects and opens a stream.
func openStream(t testing.TB, s *mysqltest.Server, o Options) *Stream {
	t.Helper()
	stream, err := tryOpen(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	return stream
}

func tryOpen(s *mysqltest.Server, o Options) (*Stream, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := wire.Connect(ctx, wire.Config{Host: s.Host, Port: s.Port, User: s.User, Password: s.Password, TLS: wire.TLSConfig{Mode: wire.TLSDisabled}})
	if err != nil {
		return nil, err
	}
	o.Conn = conn
	return Open(ctx, o)
}

// follow reads a stream until it has passed a place.
func follow(t testing.TB, s *Stream, until Place) *played {
	t.Helper()
	p := &played{}
	timeout := time.After(60 * time.Second)
	for {
		select {
		case g, ok := <-s.Groups():
			if !ok {
				t.Fatalf("the stream ended: %v", s.Err())
			}
			p.group(g)
			if pos, err := g.Files.Position(until); err == nil && p.position >= pos && !g.InTransaction {
				return p
			}
		case <-timeout:
			t.Fatalf("the stream stands at %x, %s was not reached", p.position, until)
		}
	}
}

// model applies what a stream gives to tables in memory.
type model struct {
	t      testing.TB
	tables map[string]map[string]map[string]string // table, key, column
}

func (m *model) batch(r Rows) {
	b := r.Batch
	name := b.Table.ID.Table
	rows := m.tables[name]
	if rows == nil {
		rows = map[string]map[string]string{}
		m.tables[name] = rows
	}
	for i := range b.Rows() {
		image := imageOf(b.Table, b.Record, i)
		for _, u := range b.Unchanged {
			if int(u.Row) == i {
				delete(image, b.Table.Columns[u.Column].Name)
			}
		}
		key := keyOf(b.Table, image)
		old, found := rows[key]
		if want := b.Op(i) != schema.OpInsert; found != want && b.Table.HasKey() {
			m.t.Errorf("table %s: %c %s, found %v", name, b.Op(i), key, found)
		}
		switch {
		case !b.Table.HasKey():
			m.keyless(rows, b, i, key)
		case b.Op(i) == schema.OpDelete:
			delete(rows, key)
		default:
			for c, v := range old {
				if _, ok := image[c]; !ok {
					image[c] = v
				}
			}
			rows[key] = image
		}
	}
}

// keyless counts the rows of a table without a key.
func (m *model) keyless(rows map[string]map[string]string, b *schema.Batch, i int, key string) {
	count := func(key string, d int) {
		n, _ := strconv.Atoi(rows[key]["count"])
		if n+d < 0 {
			m.t.Errorf("table %s: no row %s", b.Table.ID.Table, key)
		}
		rows[key] = map[string]string{"count": strconv.Itoa(n + d)}
		if n+d == 0 {
			delete(rows, key)
		}
	}
	if b.Op(i) != schema.OpInsert {
		count(keyOf(b.Table, imageOf(b.Table, b.Before, i)), -1)
	}
	if b.Op(i) != schema.OpDelete {
		count(key, 1)
	}
}

func imageOf(t *schema.Table, r arrow.RecordBatch, i int) map[string]string {
	image := map[string]string{}
	for c := range t.Columns {
		image[t.Columns[c].Name] = "NULL"
		if col := r.Column(c); !col.IsNull(i) {
			image[t.Columns[c].Name] = col.ValueStr(i)
		}
	}
	return image
}

func keyOf(t *schema.Table, image map[string]string) string {
	names := t.PrimaryKey
	if len(names) == 0 {
		for _, c := range t.Columns {
			names = append(names, c.Name)
		}
	}
	var parts []string
	for _, n := range names {
		parts = append(parts, image[n])
	}
	return strings.Join(parts, "|")
}

func (m *model) effect(e ddl.Effect) {
	switch e.Kind {
	case ddl.Truncate, ddl.Drop:
		delete(m.tables, e.Table.Table)
	case ddl.Rename:
		m.tables[e.NewID.Table] = m.tables[e.Table.Table]
		delete(m.tables, e.Table.Table)
	}
	for _, c := range e.Changes {
		for _, row := range m.tables[e.Table.Table] {
			for _, col := range c.Columns {
				switch c.Kind {
				case schema.ChangeDropColumn:
					delete(row, col.Name)
				case schema.ChangeAddColumn:
					row[col.Name] = "NULL"
				}
			}
		}
	}
}

// compare compares a table with what the server has.
func (m *model) compare(db *mysqltest.DB, table string) {
	m.t.Helper()
	var columns []string
	unlogged := map[string]string{"MariaDB1011": "VIRTUAL GENERATED", "MariaDB118": " GENERATED"}[db.Name] // with images that may be partial
	for _, r := range db.Query(fmt.Sprintf("SELECT COLUMN_NAME, EXTRA FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '%s' AND TABLE_NAME = '%s' ORDER BY ORDINAL_POSITION", db.Database, table)) {
		if unlogged == "" || !strings.Contains(r[1], unlogged) {
			columns = append(columns, r[0])
		}
	}
	var want, got []string
	for _, r := range db.Query("SELECT `" + strings.Join(columns, "`, `") + "` FROM `" + table + "`") {
		want = append(want, strings.Join(r, "|"))
	}
	for key, row := range m.tables[table] {
		if n := row["count"]; n != "" && len(row) == 1 {
			times, _ := strconv.Atoi(n)
			for range times {
				got = append(got, key)
			}
			continue
		}
		var parts []string
		for _, c := range columns {
			parts = append(parts, row[c])
		}
		got = append(got, strings.Join(parts, "|"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.t.Errorf("table %s:\n%.3000s\nwant\n%.3000s", table, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// commonScript is every kind of transaction that all servers have.
var commonScript = []string{
	"CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(2000), n INT)",
	"CREATE TABLE u (a INT, b VARCHAR(20), v TEXT, PRIMARY KEY (b, a))",
	"CREATE TABLE x_other (id INT PRIMARY KEY, v VARCHAR(50))",
	"CREATE TABLE keyless (a INT, b VARCHAR(20))",
	"CREATE TABLE uniq (a INT NOT NULL, b INT, UNIQUE KEY (a))",
	"INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2), (3, 'three', 3)",
	"BEGIN", "UPDATE t SET v = 'uno' WHERE id = 1", "INSERT INTO x_other VALUES (1, 'x')", "DELETE FROM t WHERE id = 3", "UPDATE t SET id = id + 10", "COMMIT",
	"BEGIN", "INSERT INTO t VALUES (100, 'gone', 0)", "ROLLBACK",
	"BEGIN", "INSERT INTO t VALUES (101, 'stays', 0)", "SAVEPOINT a", "INSERT INTO t VALUES (102, 'gone', 0)", "ROLLBACK TO a", "INSERT INTO t VALUES (103, 'stays', 0)", "RELEASE SAVEPOINT a", "COMMIT",
	"INSERT INTO u VALUES (1, 'a', 'x'), (2, 'a', 'y'), (1, 'b', NULL)",
	"UPDATE u SET b = UPPER(b), v = REPEAT('long ', 2000) WHERE a = 1",
	"REPLACE INTO t VALUES (101, 'replaced', 5)",
	"INSERT INTO t VALUES (101, 'again', 6) ON DUPLICATE KEY UPDATE v = 'updated', n = n + 1",
	"UPDATE t, u SET t.n = 77, u.v = 'multi' WHERE t.id = 11 AND u.a = 2",
	"INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL), (2, 'y')",
	"UPDATE keyless SET b = 'z' WHERE a = 2", "DELETE FROM keyless WHERE a = 1 LIMIT 1",
	"INSERT INTO uniq VALUES (1, 1), (2, NULL)", "UPDATE uniq SET a = 3 WHERE a = 2", "DELETE FROM uniq WHERE a = 1",
	"CREATE TEMPORARY TABLE tmp (id INT)", "INSERT INTO tmp VALUES (1)", "INSERT INTO t SELECT id + 300, 'from temporary', 0 FROM tmp", "DROP TEMPORARY TABLE tmp",
	"CREATE TRIGGER trg AFTER INSERT ON uniq FOR EACH ROW INSERT INTO u VALUES (NEW.a, 'trigger', 'x')", "INSERT INTO uniq VALUES (50, 50)",
	"ALTER TABLE t ADD COLUMN w VARCHAR(10) FIRST, DROP COLUMN n", "UPDATE t SET w = 'set' WHERE id > 100",
	"ALTER TABLE t MODIFY COLUMN w VARCHAR(20) AFTER v", "INSERT INTO t (id, v, w) VALUES (400, 'after', 'modify')",
	"CREATE TABLE likes LIKE t", "INSERT INTO likes SELECT * FROM t",
	"TRUNCATE TABLE likes", "INSERT INTO likes (id) VALUES (1)",
	"RENAME TABLE likes TO liked", "INSERT INTO liked (id) VALUES (2)",
	"CREATE TABLE computed (id INT PRIMARY KEY, a INT, s INT GENERATED ALWAYS AS (a + 1) STORED, g INT GENERATED ALWAYS AS (a * 2) VIRTUAL, b VARCHAR(20))",
	"INSERT INTO computed (id, a, b) VALUES (1, 5, 'x'), (2, NULL, 'y')", "DELETE FROM computed WHERE id = 2",
	"XA START 'one'", "INSERT INTO t (id, v) VALUES (500, 'one phase')", "XA END 'one'", "XA COMMIT 'one' ONE PHASE",
	"XA START 'two', 'b', 3", "INSERT INTO t (id, v) VALUES (501, 'two phases')", "UPDATE t SET v = 'by xa' WHERE id = 500", "INSERT INTO x_other VALUES (2, 'x')", "XA END 'two', 'b', 3", "XA PREPARE 'two', 'b', 3",
	"XA COMMIT 'two', 'b', 3",
	"XA START 'gone'", "INSERT INTO t (id, v) VALUES (502, 'rolled back')", "XA END 'gone'", "XA PREPARE 'gone'", "XA ROLLBACK 'gone'",
	"SET SESSION binlog_row_image = MINIMAL",
	"INSERT INTO t (id, v) VALUES (600, 'minimal')", "INSERT INTO t (id) VALUES (601)", "UPDATE t SET w = 'minimal' WHERE id = 600", "DELETE FROM t WHERE id = 601",
	"UPDATE u SET v = 'minimal' WHERE a = 2", "DELETE FROM keyless WHERE b = 'z'",
	"SET SESSION binlog_row_image = NOBLOB", "UPDATE u SET b = 'noblob' WHERE a = 2 AND b = 'nothing'", "INSERT INTO u VALUES (7, 'seven', 'blob')",
	"SET SESSION binlog_row_image = FULL",
	"DELETE FROM u WHERE a = 7", "DROP TABLE uniq",
}

// computedScript changes generated columns, with every row image.
var computedScript = []string{
	"INSERT INTO computed (id, a, b) VALUES (3, 5, 'x'), (4, NULL, 'y')", "UPDATE computed SET a = 6 WHERE id = 3", "UPDATE computed SET b = 'z' WHERE id = 3",
	"REPLACE INTO computed (id, a, b) VALUES (3, 50, 'x')", "INSERT INTO computed (id, a, b) VALUES (3, 51, 'x') ON DUPLICATE KEY UPDATE a = 52",
	"CREATE TABLE computedkeyless (a INT, s INT GENERATED ALWAYS AS (a + 1) STORED, g INT GENERATED ALWAYS AS (a * 2) VIRTUAL)",
	"INSERT INTO computedkeyless (a) VALUES (1), (2), (2)", "UPDATE computedkeyless SET a = 3 WHERE a = 1", "DELETE FROM computedkeyless WHERE a = 2 LIMIT 1",
	"SET SESSION binlog_row_image = MINIMAL",
	"INSERT INTO computed (id, a, b) VALUES (5, 5, 'x')", "UPDATE computed SET a = 7 WHERE id IN (3, 5)", "UPDATE computed SET b = 'min' WHERE id = 3", "DELETE FROM computed WHERE id = 4",
	"UPDATE computedkeyless SET a = 4 WHERE a = 3",
	"SET SESSION binlog_row_image = NOBLOB",
	"CREATE TABLE computedtext (id INT PRIMARY KEY, a TEXT, s TEXT GENERATED ALWAYS AS (CONCAT(a, 's')) STORED, g TEXT GENERATED ALWAYS AS (CONCAT(a, 'g')) VIRTUAL, b INT)",
	"INSERT INTO computedtext (id, a, b) VALUES (1, 'one', 1), (2, 'two', 2)", "UPDATE computedtext SET b = 3", "UPDATE computedtext SET a = 'three' WHERE id = 1",
	"UPDATE computed SET a = 8 WHERE id = 3", "DELETE FROM computed WHERE id = 5",
	"SET SESSION binlog_row_image = FULL",
	"ALTER TABLE computed ADD COLUMN t INT GENERATED ALWAYS AS (a + 3) VIRTUAL FIRST", "UPDATE computed SET a = 9",
}

// versionedScript changes generated columns of a table that keeps its history.
var versionedScript = []string{
	"CREATE TABLE past (id INT PRIMARY KEY, a INT, s INT AS (a + 1) STORED, g INT AS (a * 2) VIRTUAL) WITH SYSTEM VERSIONING", "INSERT INTO past (id, a) VALUES (1, 1), (2, 2)",
	"UPDATE past SET a = 3 WHERE id = 1", "DELETE FROM past WHERE id = 2", "REPLACE INTO past (id, a) VALUES (1, 4)",
	"SET SESSION binlog_row_image = MINIMAL", "UPDATE past SET a = 5 WHERE id = 1", "INSERT INTO past (id, a) VALUES (3, 3)", "DELETE FROM past WHERE id = 3", "SET SESSION binlog_row_image = FULL",
}

var mysqlScript = []string{
	"CREATE TABLE docs (id INT PRIMARY KEY, j JSON, k JSON, v INT)",
	`INSERT INTO docs VALUES (1, '{"a": 1, "b": "a text that is long enough to make a difference worth it", "c": [1, 2, 3]}', '[]', 1)`,
	"SET SESSION binlog_row_value_options = PARTIAL_JSON",
	"UPDATE docs SET j = JSON_SET(j, '$.a', 2), k = JSON_ARRAY_APPEND(k, '$', 'x')", "UPDATE docs SET j = JSON_REMOVE(j, '$.c[1]')", "UPDATE docs SET v = 2",
	"UPDATE docs SET j = JSON_REPLACE(j, '$.b', 'short', '$.c[0]', JSON_OBJECT('n', 1.5))",
	"SET SESSION binlog_row_value_options = ''",
	"CREATE TABLE expressions (id INT PRIMARY KEY, a VARCHAR(10), KEY ((UPPER(a))))", "INSERT INTO expressions VALUES (1, 'x')", "UPDATE expressions SET a = 'y'",
}

var mysql97Script = []string{
	"CREATE TABLE ctas (id INT PRIMARY KEY) SELECT id, v FROM t WHERE id < 200",
	"CREATE TABLE hidden (id INT PRIMARY KEY, h INT INVISIBLE DEFAULT 3)", "INSERT INTO hidden (id) VALUES (1)", "UPDATE hidden SET h = 4",
	"CREATE TABLE parent (id INT PRIMARY KEY)", "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
	"INSERT INTO parent VALUES (1), (2)", "INSERT INTO child VALUES (1, 1), (2, 1), (3, 2)", "DELETE FROM parent WHERE id = 1",
	"SET SESSION binlog_transaction_compression = ON",
	"BEGIN", "INSERT INTO t (id, v) VALUES (700, 'compressed'), (701, 'compressed')", "UPDATE t SET v = REPEAT('c', 1000) WHERE id = 700", "DELETE FROM t WHERE id = 701", "COMMIT",
	"XA START 'packed'", "INSERT INTO t (id, v) VALUES (702, 'compressed xa')", "XA END 'packed'", "XA PREPARE 'packed'", "XA COMMIT 'packed'",
	"INSERT INTO t (id, v) SELECT seq.n, REPEAT('x', 500) FROM (WITH RECURSIVE s (n) AS (SELECT 10000 UNION ALL SELECT n + 1 FROM s WHERE n < 10999) SELECT n FROM s) seq",
	"SET SESSION binlog_transaction_compression = OFF",
	"SET gtid_next = 'AUTOMATIC:tagged'", "INSERT INTO t (id, v) VALUES (710, 'tagged')", "SET gtid_next = AUTOMATIC",
}

var mariadbScript = []string{
	"CREATE TABLE ctas (id INT PRIMARY KEY) SELECT id, v FROM t WHERE id < 200",
	// A table whose engine can't roll back, in one transaction with one that can.
	"CREATE TABLE my (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM",
	"BEGIN", "INSERT INTO t (id, v, w) VALUES (200, 'innodb', 'w')", "INSERT INTO my VALUES (1, 'myisam')", "SAVEPOINT s", "INSERT INTO t (id, v, w) VALUES (201, 'gone', 'w')", "INSERT INTO my VALUES (2, 'stays')", "ROLLBACK TO s", "COMMIT",
	"BEGIN", "INSERT INTO t (id, v, w) VALUES (202, 'gone', 'w')", "INSERT INTO my VALUES (3, 'stays')", "ROLLBACK",
	"CREATE TABLE hidden (id INT PRIMARY KEY, h INT INVISIBLE DEFAULT 3)", "INSERT INTO hidden (id) VALUES (1)", "UPDATE hidden SET h = 4",
	"CREATE TABLE versioned (id INT PRIMARY KEY, v VARCHAR(20)) WITH SYSTEM VERSIONING",
	"INSERT INTO versioned VALUES (1, 'a'), (2, 'b'), (3, 'c')", "UPDATE versioned SET v = 'aa' WHERE id = 1", "DELETE FROM versioned WHERE id = 2", "UPDATE versioned SET id = 33 WHERE id = 3",
	"REPLACE INTO versioned VALUES (1, 'aaa')", "DELETE HISTORY FROM versioned",
	"SET SESSION binlog_row_image = MINIMAL", "UPDATE versioned SET v = 'minimal' WHERE id = 1", "SET SESSION binlog_row_image = FULL",
	"CREATE SEQUENCE seq", "INSERT INTO t (id, v) VALUES (NEXTVAL(seq) + 800, 'sequence')",
	"CREATE TABLE packed (id INT PRIMARY KEY, v VARCHAR(2000) COMPRESSED)", "INSERT INTO packed VALUES (1, REPEAT('compressed', 100)), (2, 'short')",
	"CREATE TABLE longkey (id INT PRIMARY KEY, b TEXT, UNIQUE KEY (b))", "INSERT INTO longkey VALUES (1, 'x'), (2, NULL)", "UPDATE longkey SET b = 'y' WHERE id = 1",
	"SET SESSION binlog_alter_two_phase = ON", "ALTER TABLE packed ADD COLUMN w INT", "SET SESSION binlog_alter_two_phase = OFF", "INSERT INTO packed VALUES (3, 'three', 3)",
	"DELETE FROM t WHERE id = 400 RETURNING v",
}

func script(s *mysqltest.Server) []string {
	out := slices.Concat(commonScript, computedScript)
	switch {
	case s.MariaDB:
		return append(append(out, mariadbScript...), versionedScript...)
	case s.Name == "MySQL97":
		out = append(out, mysql97Script...)
	}
	return append(out, mysqlScript...)
}

// TestServerTransactions: whatever a server writes, the tables that the stream makes
// are those of the server, by GTID and by place, and from places in the middle.
func TestServerTransactions(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) { transactions(t, s, script(s), true) })
}

// TestServerSettings: the same with other settings of the server.
func TestServerSettings(t *testing.T) {
	for _, c := range []struct {
		server   string
		settings []string
		gtids    bool
	}{
		{"MySQL97", []string{"binlog-row-metadata=MINIMAL", "binlog-checksum=NONE", "gtid-mode=OFF", "enforce-gtid-consistency=OFF"}, false},
		{"MySQL97", []string{"binlog-row-image=MINIMAL", "binlog-transaction-compression=ON", "binlog-row-event-max-size=256"}, true},
		{"MySQL80", []string{"binlog-row-metadata=MINIMAL", "binlog-checksum=NONE", "gtid-mode=OFF", "enforce-gtid-consistency=OFF"}, false},
		{"MySQL80", []string{"binlog-row-image=NOBLOB", "binlog-rows-query-log-events=ON"}, true},
		{"MariaDB1011", []string{"binlog-row-metadata=NO_LOG", "binlog-checksum=NONE"}, true},
		{"MariaDB118", []string{"binlog-row-metadata=MINIMAL", "log-bin-compress=ON", "log-bin-compress-min-len=10", "binlog-row-event-max-size=256"}, true},
		{"MariaDB118", []string{"binlog-row-image=FULL_NODUP"}, true},
	} {
		t.Run(c.server+" "+c.settings[0], func(t *testing.T) {
			s := mysqltest.Private(t, c.server, c.settings...)
			minimal := c.settings[0] == "binlog-row-image=MINIMAL"
			sql := slices.DeleteFunc(script(s.Server), func(sql string) bool {
				// A new key with columns that are not known is an error.
				newKey := strings.Contains(sql, "SET id = id + 10") || strings.Contains(sql, "uniq SET a = 3")
				return !c.gtids && strings.Contains(sql, "AUTOMATIC") || minimal && newKey
			})
			transactions(t, s.Server, sql, c.gtids)
		})
	}
}

func transactions(t *testing.T, s *mysqltest.Server, script []string, gtids bool) {
	db := mysqltest.Open(t, s)
	o := serverOptions(t, db)
	stream := openStream(t, s, o)
	for _, sql := range script {
		db.Exec(sql)
	}
	end, _ := place(t, db.Session, db.MariaDB)
	m := &model{t: t, tables: map[string]map[string]map[string]string{}}
	whole := &played{}
	for pos := uint64(0); ; {
		g, ok := <-stream.Groups()
		if !ok {
			t.Fatal(stream.Err())
		}
		for _, r := range g.Rows {
			m.batch(r)
		}
		for _, e := range g.Effects {
			m.effect(e)
		}
		whole.group(g)
		if pos, _ = g.Files.Position(end); whole.position >= pos {
			break
		}
	}
	for _, r := range db.Query("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '" + db.Database + "' AND TABLE_TYPE <> 'SEQUENCE'") {
		if !strings.HasPrefix(r[0], "x_") {
			m.compare(db, r[0])
		}
	}
	if t.Failed() {
		t.Logf("%.20000s", whole.lines(0))
	}
	resumeOnServer(t, s, o, whole, end, gtids)
}

// resumeOnServer goes on from places in the middle of a run.
func resumeOnServer(t *testing.T, s *mysqltest.Server, o Options, whole *played, end Place, gtids bool) {
	points := whole.checkpoints()
	for i := 0; i < len(points); i += max(1, len(points)/12) {
		c := points[i]
		if c.position == whole.position {
			break
		}
		r := c.restore(t, o)
		for _, byGTID := range []bool{false, true} {
			if byGTID && !gtids {
				continue
			}
			nextServerID++
			r.ServerID, r.ByGTID = nextServerID, byGTID
			r.GTIDs = o.GTIDs.Clone()
			r.GTIDs.Union(c.gtids)
			stream := openStream(t, s, r)
			p := follow(t, stream, end)
			if got, want := p.lines(0), whole.lines(c.position); got != want {
				t.Fatalf("from %s, by GTID %v:\n%.5000s\nwant\n%.5000s", r.Start, byGTID, got, want)
			}
			if err := stream.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestServerGenerated: a generated column that was captured before the server left
// it out of updates is not taken for unchanged.
func TestServerGenerated(t *testing.T) {
	s := mysqltest.Named(t, "MariaDB118")
	db := mysqltest.Open(t, s)
	o := serverOptions(t, db)
	db.Exec("CREATE TABLE t (id INT PRIMARY KEY, a INT, s INT AS (a + 1) STORED)")
	older := o.Catalog.Options()
	older.Version, older.OmitsUnchanged = 101118, false
	stream := openStream(t, s, o)
	first := <-stream.Groups()
	for ; len(first.Effects) == 0; first = <-stream.Groups() {
		first.Release()
	}
	d, ok := first.Catalog.Definition(schema.TableID{Schema: db.Database, Table: "t"})
	if !ok || !slices.Equal(d.Unlogged(), []string{"s"}) {
		t.Fatalf("%+v", d)
	}
	captured := *d
	captured.Number = 0 // as an older server gave it
	o.Catalog = ddl.NewCatalog(older, first.Catalog.Databases(), []ddl.Definition{captured})
	if table, ok := o.Catalog.Table(d.ID); !ok || len(table.Columns) != 3 {
		t.Fatalf("%+v", table)
	}
	o.Start, o.GTIDs = place(t, db.Session, true)
	nextServerID++
	o.ServerID = nextServerID
	stream = openStream(t, s, o)
	db.Exec("INSERT INTO t (id, a) VALUES (1, 5)", "UPDATE t SET a = 6")
	for g := range stream.Groups() {
		taken := len(g.Rows) > 0 && g.Rows[0].Batch.Op(0) == schema.OpUpdate
		g.Release()
		if taken {
			break
		}
	}
	if err := stream.Err(); !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "generated columns") {
		t.Error(err)
	}
}

// TestServerGeneratedLearned: where only the log tells of a table, and not that a column is
// generated, an update that lacks it is not taken for one that left it alone.
func TestServerGeneratedLearned(t *testing.T) {
	s := mysqltest.Named(t, "MariaDB118")
	for _, known := range []bool{false, true} {
		db := mysqltest.Open(t, s)
		o := serverOptions(t, db)
		id := schema.TableID{Schema: db.Database, Table: "t"}
		columns := []ddl.Column{{Definition: value.Definition{Name: "s", ColumnType: "bigint(20)", Nullable: true, Generated: "STORED"}}}
		if known { // what it was at another time
			o.Catalog = ddl.NewCatalog(o.Catalog.Options(), o.Catalog.Databases(), []ddl.Definition{{ID: id, Columns: append(columns, ddl.Column{Definition: value.Definition{Name: "x", ColumnType: "int(11)"}})}})
		}
		db.Exec("CREATE TABLE t (id INT PRIMARY KEY, a INT, s BIGINT AS (a + 1) STORED)")
		o.Start, o.GTIDs = place(t, db.Session, true)
		o.LearnBefore = 1 << 62
		stream := openStream(t, s, o)
		db.Exec("INSERT INTO t (id, a) VALUES (1, 5)", "UPDATE t SET a = 6", "INSERT INTO t (id, a) VALUES (2, 5)")
		last := 0
		for g := range stream.Groups() {
			for _, r := range g.Rows {
				last += r.Batch.Rows()
				if known && len(r.Batch.Table.Columns) != 2 {
					t.Errorf("%+v", r.Batch.Table.Columns)
				}
			}
			g.Release()
			if last == 3 {
				break
			}
		}
		if err := stream.Err(); !known && (!errors.Is(err, ErrImage) || !strings.Contains(err.Error(), "generated columns")) {
			t.Error(err)
		}
	}
}
