package postgres

import (
	"errors"
	"strings"
	"testing"
)

// TestLogSchemaChanges: a change lies in the log where it happened, also one that
// happened while nobody followed, when the catalogue is ahead.
func TestLogSchemaChanges(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY, v varchar(10), w int)`)
	before := f.discover()[0].Schema
	f.open(0)
	run(t, f.sql, `INSERT INTO a VALUES (1, 'one', 1)`, `ALTER TABLE a RENAME v TO name`, `BEGIN; INSERT INTO a VALUES (2, 'two', 2); ALTER TABLE a DROP w, ADD x text, ALTER name TYPE text; INSERT INTO a VALUES (3, 'three', 'x'); COMMIT`)
	position := f.follow()
	want := `c a id=1 v=one w=1 #0
		rename.column a v->name
		c a id=2 name=two w=2 #0
		drop.column a w:INT
		alter.column.type a name:STRING
		add.column a x:STRING
		c a id=3 name=three x=x #1`
	f.want(want)
	f.close()

	// Again from the beginning, with the definition of then: the same.
	s, err := readSlot(t.Context(), f.sql, "freshet_test")
	if err != nil {
		t.Fatal(err)
	}
	f.open(uint64(s.confirmed), before)
	f.follow()
	f.want(want)
	f.close()

	// What is ahead of the log: several changes while nobody follows.
	now := f.discover()[0].Schema
	run(t, f.sql, `ALTER TABLE a ADD y int; INSERT INTO a VALUES (4, '4', '4', 4)`, `ALTER TABLE a RENAME name TO n2; INSERT INTO a VALUES (5, '5', '5', 5)`,
		`ALTER TABLE a RENAME n2 TO n3; ALTER TABLE a ALTER y TYPE bigint; INSERT INTO a VALUES (6, '6', '6', 6)`,
		`ALTER TABLE a DROP x; INSERT INTO a VALUES (7, '7', 7)`)
	f.open(position, now)
	f.follow()
	f.want(`add.column a y:INT
		c a id=4 name=4 x=4 y=4 #0
		rename.column a name->n2
		c a id=5 n2=5 x=5 y=5 #0
		rename.column a n2->n3
		alter.column.type a y:BIGINT
		c a id=6 n3=6 x=6 y=6 #0
		drop.column a x:STRING
		c a id=7 n3=7 y=7 #0`)

	run(t, f.sql, `ALTER TABLE a ADD z int DEFAULT 5`, `INSERT INTO a VALUES (8)`)
	for g := range f.log.Groups() {
		g.release()
	}
	var sc *SchemaChangeError
	if err := f.log.Err(); !errors.As(err, &sc) || sc.Position == 0 || !strings.Contains(err.Error(), `"z"`) {
		t.Errorf("a default that fills rows: %v", err)
	}
	f.close()
}

// TestLogTableGone: a table that is renamed, or dropped and made anew, stops with its name.
func TestLogTableGone(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY)`)
	f.open(0)
	defer f.close()
	run(t, f.sql, `ALTER TABLE a RENAME TO b`, `INSERT INTO b VALUES (1)`)
	for g := range f.log.Groups() {
		g.release()
	}
	if err := f.log.Err(); !errors.Is(err, ErrSchemaChange) || !strings.Contains(err.Error(), "renamed to public.b") {
		t.Errorf("renamed: %v", err)
	}
}

// TestLogWatch: tables that the log falls silent about.
func TestLogWatch(t *testing.T) {
	f := newLogFixture(t, map[string]string{"heartbeat.interval": "1s"}, `CREATE TABLE a (id int PRIMARY KEY)`, `CREATE TABLE b (id int PRIMARY KEY)`)
	expect := func(sql, want string) {
		t.Helper()
		f.open(0)
		run(t, f.sql, sql)
		for g := range f.log.Groups() {
			g.release()
		}
		if err := f.log.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
		f.close()
	}
	expect(`ALTER PUBLICATION freshet_test DROP TABLE b`, "no longer publishes public.b")
	expect(`DROP TABLE a; CREATE TABLE a (id int PRIMARY KEY)`, "table public.a at ")
}
