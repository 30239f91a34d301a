package snapshot

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

func (k *keyCase) runsOn(s *mysqltest.Server) bool {
	return k.on == "" || strings.Contains(s.Name, k.on) || k.on == "mariadb" && s.MariaDB || k.on == "mysql" && !s.MariaDB
}

// TestKeys: for every kind of key, the chunks together have each row once, those that
// stay while others come and go; with the seed of the test's name.
func TestKeys(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		for i, k := range keyCases {
			if k.runsOn(s) {
				t.Run(k.name, func(t *testing.T) { k.run(t, s, db, fmt.Sprintf("t`%d", i)) })
			}
		}
	})
}

const (
	keyRows  = 500
	goes     = 7 // rows with such a multiple as number are deleted meanwhile
	newcomer = 1_000_000
)

func (k *keyCase) run(t *testing.T, s *mysqltest.Server, db *mysqltest.DB, name string) {
	rng := rand.New(rand.NewPCG(7, uint64(len(t.Name()))))
	table := "`" + strings.ReplaceAll(name, "`", "``") + "`"
	if k.index == "" {
		k.index = "PRIMARY KEY (" + strings.Join(append(k.key, map[bool]string{true: "k"}[len(k.key) == 0])[:max(1, len(k.key))], ", ") + ")"
	}
	if k.key == nil {
		k.key = []string{"k"}
	}
	db.Exec("SET NAMES utf8mb4", "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'")
	db.Exec(fmt.Sprintf("CREATE TABLE %s (%s, n INT NOT NULL, %s) %s", table, k.columns, k.index, k.options))
	insert := func(from, rows int) {
		values := make([]string, rows)
		for i := range values {
			values[i] = fmt.Sprintf("(%s, %d)", k.value(rng), from+i)
		}
		db.Exec("INSERT IGNORE INTO " + table + " VALUES " + strings.Join(values, ", "))
	}
	insert(0, keyRows)
	if k.name == "enum" {
		db.Exec("INSERT IGNORE INTO " + table + " VALUES ('no label', 7, 700000), ('', 3, 700001)")
	}
	db.Exec("ANALYZE TABLE " + table)
	stay := db.Query(fmt.Sprintf("SELECT n FROM %s WHERE n %% %d <> 0", table, goes))
	u := &union{t: t, r: reader(t, s), def: definition(t, s, db.Database, name, k.key...), seen: map[int32]int{}}
	u.between = func(step int) {
		insert(newcomer+100*step, 5)
		db.Exec(fmt.Sprintf("DELETE FROM %s WHERE n %% %d = 0 ORDER BY n LIMIT 3", table, goes))
	}
	u.run(Options{ChunkRows: 17, ChunkBytes: 1 << 20})
	for _, row := range stay {
		var n int32
		fmt.Sscan(row[0], &n)
		if u.seen[n] != 1 {
			t.Errorf("row %d came %d times: %v", n, u.seen[n], db.Query(fmt.Sprintf("SELECT * FROM %s WHERE n = %d", table, n)))
		}
	}
	for n, times := range u.seen {
		if times > 1 {
			t.Errorf("row %d came %d times", n, times)
		}
	}
	if len(stay) < 100 || u.chunks < 8 {
		t.Errorf("%d rows in %d chunks are no test", len(stay), u.chunks)
	}
	k.byRow(t, u)
	k.cost(t, u)
}

// byRow finds rows by their keys.
func (k *keyCase) byRow(t *testing.T, u *union) {
	key := mustPlan(t, u.r, u.def).Key
	all := u.r.Read(within(t), Job{Table: u.def, Key: &key, Rows: 1 << 20})
	if all.Err != nil {
		t.Fatal(all.Err)
	}
	defer all.Release()
	_, n := u.def.Column("n")
	want, only := map[int32]bool{}, []string(nil)
	for _, rec := range all.Records {
		for row := 0; row < int(rec.NumRows()); row += 7 {
			condition, err := RowCondition(u.def, rec, row)
			if errors.Is(err, schema.ErrNullKey) && (k.name == "date" || k.name == "datetime") {
				continue // a date that does not exist
			}
			if err != nil {
				t.Fatal(err)
			}
			only = append(only, condition)
			want[rec.Column(n).(*array.Int32).Value(row)] = true
		}
	}
	c := u.r.Read(within(t), Job{Table: u.def, Key: &key, Only: only, Rows: 1})
	defer c.Release()
	if c.Err != nil || len(c.Left) > 0 || c.High.IsZero() {
		t.Fatal(c.Err, c.Left)
	}
	missing := len(want)
	for _, rec := range c.Records {
		for _, v := range rec.Column(n).(*array.Int32).Int32Values() {
			if !want[v] {
				t.Errorf("row %d was not asked for", v)
			}
			missing--
		}
	}
	if missing != 0 && k.name != "cp932" || len(want) < 20 {
		t.Errorf("%d rows of %d were not found by key", missing, len(want))
	}
}

// cost makes sure that the server reads a range by the index and sorts nothing,
// where it can: SET has no range, a prefix no order.
func (k *keyCase) cost(t *testing.T, u *union) {
	ctx := within(t)
	p, err := u.r.Plan(ctx, u.def, Options{ChunkRows: 20, ChunkBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if p.Even == nil {
		bounds, _, err := u.r.Walk(ctx, u.def, &p.Key, Walk{Span: Range{}, Rows: 20, Steps: 8})
		if err != nil || len(bounds) < 7 {
			t.Fatal(len(bounds), err)
		}
		p.Ready = []Range{{From: bounds[5], To: bounds[6]}}
	}
	rg, _ := p.Next()
	conn, err := u.r.session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{chunkQuery(p.Job(u.def, rg), conn.Flavor(), 40), walkQuery(u.def, &p.Key, Range{From: rg.To}, 10)} {
		if err := conn.Exec(ctx, "FLUSH STATUS"); err != nil {
			t.Fatal(err)
		}
		if err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
		res, err := conn.Query(ctx, "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' OR Variable_name IN ('Sort_rows', 'Sort_range', 'Sort_scan')")
		if err != nil {
			t.Fatal(err)
		}
		read := int64(0)
		for _, row := range res.Rows {
			n, _ := row[1].Int()
			if read += n; strings.HasPrefix(row[0].String(), "Sort") && n > 0 && p.Key.ordered() {
				t.Errorf("%s = %d for %s", row[0], n, sql)
			}
		}
		if read > 150 && k.name != "set" {
			t.Errorf("%d rows were looked at for %s", read, sql)
		}
	}
}

// union reads a whole table by its plan and counts the rows by their column n.
type union struct {
	t       *testing.T
	r       *Reader
	def     *schema.Table
	between func(step int)
	seen    map[int32]int
	chunks  int
	largest int
}

func (u *union) run(o Options) {
	u.t.Helper()
	ctx := within(u.t)
	p, err := u.r.Plan(ctx, u.def, o)
	if err != nil {
		u.t.Fatal(err)
	}
	u.drain(p)
}

func (u *union) drain(p *Plan) {
	u.t.Helper()
	ctx := within(u.t)
	for p.More() {
		if w, ok := p.Walk(); ok {
			bounds, end, err := u.r.Walk(ctx, u.def, &p.Key, w)
			if err != nil {
				u.t.Fatal(err)
			}
			p.Walked(bounds, end)
		}
		rg, ok := p.Next()
		if !ok {
			continue
		}
		c := u.r.Read(ctx, p.Job(u.def, rg))
		if c.Err != nil {
			u.t.Fatal(c.Err)
		}
		if c.High.IsZero() {
			u.t.Fatal("no High")
		}
		u.count(c)
		p.Took(c)
		if u.between != nil && u.chunks < 60 {
			u.between(u.chunks)
		}
	}
}

func (u *union) count(c *Chunk) {
	u.chunks++
	u.largest = max(u.largest, c.Rows)
	rows := 0
	_, n := u.def.Column("n")
	for _, rec := range c.Records {
		rows += int(rec.NumRows())
		for _, v := range rec.Column(n).(*array.Int32).Int32Values() {
			u.seen[v]++
		}
	}
	if rows != c.Rows {
		u.t.Fatalf("%d rows in a chunk of %d", rows, c.Rows)
	}
	c.Release()
}

// TestKeyFound: which index a key is read by.
func TestKeyFound(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, d INT, KEY plain (b), UNIQUE KEY ab (b, a), UNIQUE KEY c (c), UNIQUE KEY d (d))")
		r := reader(t, s)
		for key, want := range map[string]string{"a,b": "ab", "c": "c"} {
			p, err := r.Plan(within(t), definition(t, s, db.Database, "t", strings.Split(key, ",")...), Options{})
			if err != nil || p.Key.Index != want || len(p.Key.Columns) != len(strings.Split(key, ",")) {
				t.Errorf("key %s: %+v, %v", key, p, err)
			}
		}
		for _, key := range []string{"a", "b", "a,b,c"} {
			if p, err := r.Plan(within(t), definition(t, s, db.Database, "t", strings.Split(key, ",")...), Options{}); err == nil {
				t.Errorf("key %s: %+v", key, p)
			}
		}
	})
}

// TestNoPad: a key that MariaDB orders in two ways is refused as soon as that matters.
func TestNoPad(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		if !s.MariaDB {
			return // MySQL has no such collations
		}
		db := mysqltest.Open(t, s)
		db.Exec("CREATE TABLE t (k CHAR(5) CHARACTER SET latin1 COLLATE latin1_nopad_bin PRIMARY KEY, n INT)", "INSERT INTO t VALUES ('A', 1), ('B', 2)")
		def, r := definition(t, s, db.Database, "t", "k"), reader(t, s)
		p, err := r.Plan(within(t), def, Options{ChunkRows: 1})
		if err != nil {
			t.Fatal(err)
		}
		db.Exec("INSERT INTO t VALUES ('A\t', 3)")
		if _, _, err := r.Walk(within(t), def, &p.Key, Walk{Rows: 1, Steps: 1}); !errors.Is(err, ErrAmbiguous) {
			t.Errorf("a boundary that is ambiguous: %v", err)
		}
		if _, err := r.Plan(within(t), def, Options{ChunkRows: 1}); !errors.Is(err, ErrAmbiguous) {
			t.Errorf("a plan: %v", err)
		}
	})
}
