package workload

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// query answers with the only value of a query.
type query func(sql string) string

// TestPostgres and TestMySQL run the workload on real servers and check that it
// keeps what it promises, that a worker of one seed always does the same, and that
// it survives the server.
func TestPostgres(t *testing.T) {
	servers.Require(t)
	ctx := context.Background()
	pg, err := servers.StartPostgres(ctx, "15", "workload")
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Wipe()
	conn := func() *pgx.Conn {
		conn, err := pgx.Connect(ctx, pg.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(ctx) })
		return conn
	}
	value := func(sql string) (v string) {
		t.Helper()
		if err := conn().QueryRow(ctx, "SELECT v::text FROM ("+sql+") q(v)").Scan(&v); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return v
	}
	drop := func() {
		if _, err := conn().Exec(ctx, "DROP TABLE accounts, ledger, progress, documents, events"); err != nil {
			t.Fatal(err)
		}
	}
	testWorkload(t, pg.URL, value, drop, "SELECT md5(string_agg(d::text, '|' ORDER BY id)) FROM documents d")
	if value("SELECT pg_relation_size(reltoastrelid) > 0 FROM pg_class WHERE relname = 'documents'") != "true" {
		t.Error("nothing is stored out of line")
	}
	drop()
	testRestart(t, pg.URL, value, func() error { return pg.Kill(ctx) }, func() error { return pg.Start(ctx) })
}

func TestMySQL(t *testing.T) {
	servers.Require(t)
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("SET group_concat_max_len = 100000000")
		drop := func() { db.Exec("DROP TABLE accounts, ledger, progress, documents, events") }
		testWorkload(t, db.URL(), db.Value, drop, `SELECT SHA2(GROUP_CONCAT(CONCAT_WS(',', id, version, title, body, meta, score, ratio, flag, HEX(raw),
			day, small, status, labels, huge, price, seen, HEX(bits), built, latin, checksum) ORDER BY id), 256) FROM documents`)
	})
}

func TestMySQLRestart(t *testing.T) {
	names := []string{"MySQL97", "MariaDB118"}
	if servers.Full() {
		names = append(names, "MySQL80", "MariaDB1011")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := mysqltest.Private(t, name)
			p.Connect(t).Exec("CREATE DATABASE shop")
			value := func(sql string) string {
				s := p.Connect(t)
				s.Exec("USE shop")
				return s.Value(sql)
			}
			testRestart(t, p.URL+"shop", value, func() error { p.Kill(); return nil }, func() error { p.Start(); return nil })
		})
	}
}

// testWorkload runs it three times, twice the same.
func testWorkload(t *testing.T, url string, value query, drop func(), sum string) {
	t.Helper()
	var sums []string
	for i, workers := range []int{1, 1, 2} {
		if i > 0 {
			drop()
		}
		config := Config{Seed: 7, Accounts: 300, Documents: 500, Events: 10, Workers: workers, XA: strings.HasPrefix(url, "mysql")}
		w := run(t, url, config, 5000)
		check(t, w, value)
		sums = append(sums, value(sum))
	}
	if sums[0] != sums[1] {
		t.Errorf("two runs of one seed gave different rows: %s and %s", sums[0], sums[1])
	}
}

func run(t *testing.T, url string, config Config, changes int64) *Workload {
	t.Helper()
	w, err := New(url, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Run(t.Context(), changes); err != nil || n < changes {
		t.Fatalf("Run = %d, %v", n, err)
	}
	return w
}

// testRestart kills the server under the workload, three times.
func testRestart(t *testing.T, url string, value query, kill, start func() error) {
	t.Helper()
	ended := make(chan struct{})
	killed := make(chan error, 1)
	go func() {
		var err error
		for range 3 {
			time.Sleep(time.Second)
			if err == nil {
				err = kill()
			}
			if err == nil {
				err = start()
			}
		}
		killed <- err
		close(ended)
	}()
	config := Config{Seed: 9, Accounts: 300, Documents: 500, Events: 10, XA: strings.HasPrefix(url, "mysql"), Pace: func(ctx context.Context, changes int64) error {
		if changes > 2000 { // then wait for the last kill
			select {
			case <-ended:
			default:
				time.Sleep(2 * time.Millisecond)
			}
		}
		return nil
	}}
	var w *Workload
	for changes := int64(5000); ; changes += 5000 {
		if w == nil {
			w = run(t, url, config, changes)
		} else if _, err := w.Run(t.Context(), changes); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-killed:
			if err != nil {
				t.Fatal(err)
			}
			check(t, w, value)
			return
		default:
		}
	}
}

// check compares what the tables say with each other and with what the workers know.
func check(t *testing.T, w *Workload, value query) {
	t.Helper()
	for name, sql := range map[string]string{
		"balances": "SELECT sum(balance) <> 300 * 1000 FROM accounts",
		"ledger":   "SELECT count(*) <> 0 FROM progress p WHERE (SELECT count(*) FROM ledger l WHERE l.worker = p.worker) <> transfers OR transfers = 0",
		"events":   "SELECT count(*) <> 0 FROM progress p WHERE (SELECT count(*) FROM events e WHERE e.worker = p.worker) <> events OR events = 0",
		"checksums": "SELECT count(*) <> 0 FROM documents WHERE checksum <> " + map[*dialect]string{
			&postgres: "md5(id || ':' || version)", &mysql: "SHA2(CONCAT(id, ':', version), 256)"}[w.dialect],
		"follows": `SELECT count(*) <> 0 FROM accounts a WHERE balance <> 1000 + coalesce((SELECT sum(amount) FROM ledger WHERE credit = a.id), 0)
			- coalesce((SELECT sum(amount) FROM ledger WHERE debit = a.id), 0)`,
	} {
		if got := value(sql); got != "false" && got != "0" {
			t.Errorf("%s: %s", name, got)
		}
	}
	documents, transactions := 0, int64(0)
	for _, worker := range w.workers {
		documents += len(worker.docs.live)
		transactions += worker.transactions
	}
	if got := value("SELECT cast(count(*) AS char(10)) FROM documents"); strings.TrimSpace(got) != fmt.Sprint(documents) {
		t.Errorf("the workers know %d documents, the table has %s", documents, got)
	}
	if got := value("SELECT cast(sum(transactions) AS char(10)) FROM progress"); strings.TrimSpace(got) != fmt.Sprint(transactions) {
		t.Errorf("the workers committed %d transactions, the table says %s", transactions, got)
	}
}

func TestGate(t *testing.T) {
	g := &Gate{}
	g.Limit(10)
	if err := g.Pace(context.Background(), 9); err != nil {
		t.Fatal(err)
	}
	passed := make(chan error)
	go func() { passed <- g.Pace(context.Background(), 10) }()
	select {
	case <-passed:
		t.Fatal("Pace let a writer pass at the limit")
	case <-time.After(20 * time.Millisecond):
	}
	g.Limit(11)
	if err := <-passed; err != nil {
		t.Fatal(err)
	}
	g.Pause()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := g.Pace(ctx, 0); err == nil {
		t.Fatal("Pace let a writer pass while paused")
	}
}
