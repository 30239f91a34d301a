package ddl

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

func oneTable(t *testing.T, o Options, sql string) (*Catalog, *Definition) {
	t.Helper()
	o.Value.MariaDB = o.MariaDB
	c := NewCatalog(o, []Database{{Name: "d", Charset: "utf8mb4", Collation: "utf8mb4_bin", Complete: true}}, nil)
	c, _, err := c.Apply(Statement{SQL: sql, Database: "d"})
	if err != nil {
		t.Fatal(err)
	}
	d, ok := c.Definition(schema.TableID{Schema: "d", Table: "t"})
	if !ok || d.Lost != "" {
		t.Fatalf("no definition of %s: %+v", sql, d)
	}
	return c, d
}

// TestCharsetOfStatement: names and comments are in the client's character set, where
// a byte may look like a backslash or a backtick.
func TestCharsetOfStatement(t *testing.T) {
	for _, c := range []struct {
		name string
		sql  string
		id   uint16
		want string
	}{
		{"gbk, 0x5c", "CREATE TABLE t (a INT COMMENT '\x95\x5c', `\x81\x60` INT)", 28, "a:昞 乣:"},
		{"latin1", "CREATE TABLE t (`gr\xf6\xdfe` INT COMMENT '\x80')", 8, "größe:€"},
		{"utf8mb4", "CREATE TABLE t (größe INT COMMENT '表')", 45, "größe:表"},
		{"utf8mb4 with a broken byte", "CREATE TABLE t (a INT COMMENT '\xff')", 45, "a:\uFFFD"},
		{"not known, but ASCII", "CREATE TABLE t (a INT)", 9999, "a:"},
	} {
		_, d := oneTable(t, Options{Version: 80400}, "CREATE TABLE t (x INT)")
		next, _, err := NewCatalog(Options{Version: 80400}, []Database{{Name: "d", Charset: "utf8mb4", Complete: true}}, nil).
			Apply(Statement{SQL: c.sql, Database: "d", ClientCharset: c.id})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		d, _ = next.Definition(d.ID)
		var got []string
		for _, col := range d.Columns {
			got = append(got, col.Name+":"+col.Comment)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	c := NewCatalog(Options{}, []Database{{Name: "d", Complete: true}}, nil)
	_, effects, err := c.Apply(Statement{SQL: "CREATE TABLE t (a INT COMMENT '\x95')", Database: "d", ClientCharset: 28})
	if err != nil || len(effects) != 1 || effects[0].Kind != Unknown || !strings.Contains(effects[0].Err.Error(), "gbk") {
		t.Errorf("half a character in a comment: %+v, %v", effects, err)
	}
	if _, _, err = c.Apply(Statement{SQL: "CREATE TABLE t\x95 (a INT)", Database: "d", ClientCharset: 28}); err == nil || !strings.Contains(err.Error(), "gbk") {
		t.Errorf("half a character in the name: %v", err)
	}
	if _, effects, err = c.Apply(Statement{SQL: "GRANT SELECT ON t TO x\x95", Database: "d", ClientCharset: 28}); err != nil || len(effects) > 0 {
		t.Errorf("half a character in another statement: %v, %v", effects, err)
	}
}

// TestCollations: the session's defaults come with the statement, else from the options.
func TestCollations(t *testing.T) {
	maria := Options{MariaDB: true, Version: 110809, CharsetCollations: "utf8mb3=utf8mb3_uca1400_ai_ci, utf8mb4=utf8mb4_uca1400_ai_ci"}
	for _, c := range []struct {
		name string
		o    Options
		s    Statement
		want string
	}{
		{"MySQL", Options{Version: 80400}, Statement{}, "utf8mb4_0900_ai_ci"},
		{"default_collation_for_utf8mb4", Options{Version: 80400}, Statement{UTF8MB4Collation: 45}, "utf8mb4_general_ci"},
		{"MariaDB before 11.5", Options{MariaDB: true, Version: 101118}, Statement{}, "utf8mb4_general_ci"},
		{"the server's character_set_collations", maria, Statement{}, "utf8mb4_uca1400_ai_ci"},
		{"none in the session", maria, Statement{CharsetCollations: []byte{}}, "utf8mb4_general_ci"},
		{"others in the session", maria, Statement{CharsetCollations: []byte{33, 0, 83, 0, 45, 0, 46, 0}}, "utf8mb4_bin"},
	} {
		if got := (resolver{o: c.o, s: c.s}).collationOf("utf8mb4"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMatch: what the log says of a table contradicts another definition.
func TestMatch(t *testing.T) {
	o := Options{Version: 90704}
	_, d := oneTable(t, o, "CREATE TABLE t (id INT UNSIGNED PRIMARY KEY, a VARCHAR(10) CHARSET latin1, e ENUM('x','y'), n DECIMAL(10,2) NOT NULL, j JSON, b BINARY(3), s TIMESTAMP(3) NULL, k TEXT)")
	fits := func() TableMap {
		return TableMap{
			Types: []byte{3, 15, 254, 246, 245, 254, 17, 252}, Metas: []uint16{0, 10, 247<<8 | 1, 10<<8 | 2, 4, 254<<8 | 3, 3, 2},
			Nullable: []bool{false, true, true, false, true, true, true, true}, Unsigned: []bool{true, false, false, false, false, false, false, false},
			Collations: []uint16{0, 8, 45, 0, 0, 63, 0, 46}, Names: []string{"id", "a", "e", "n", "j", "b", "s", "k"},
			Labels: [][]string{nil, nil, {"x", "y"}, nil, nil, nil, nil, nil}, PrimaryKey: []int{0},
		}
	}
	if _, err := d.Match(fits(), o); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(m *TableMap){
		"column id: the log does not fit the definition of the table: the log calls it x":                   func(m *TableMap) { m.Names[0] = "x" },
		"column id: the log does not fit the definition of the table: it is int unsigned":                   func(m *TableMap) { m.Types[0] = 8 },
		"column a: the log does not fit the definition of the table: it is varchar(10)":                     func(m *TableMap) { m.Metas[1] = 40 },
		"column e: the log does not fit the definition of the table: the log has the labels":                func(m *TableMap) { m.Labels[2] = []string{"x", "z"} },
		"column n: the log does not fit the definition of the table: it is decimal(10,2)":                   func(m *TableMap) { m.Metas[3] = 12<<8 | 2 },
		"column n: the log does not fit the definition of the table: the log disagrees about NOT NULL":      func(m *TableMap) { m.Nullable[3] = true },
		"column id: the log does not fit the definition of the table: the log disagrees about UNSIGNED":     func(m *TableMap) { m.Unsigned[0] = false },
		"column a: the log does not fit the definition of the table: the log has the character set utf8mb4": func(m *TableMap) { m.Collations[1] = 46 },
		"column b: the log does not fit the definition of the table: it is binary(3)":                       func(m *TableMap) { m.Metas[5] = 254<<8 | 4 },
		"column s: the log does not fit the definition of the table: it is timestamp(3)":                    func(m *TableMap) { m.Metas[6] = 6 },
		"column k: the log does not fit the definition of the table: it is text":                            func(m *TableMap) { m.Metas[7] = 3 },
		"its rows have 7 columns, the definition has 8":                                                     func(m *TableMap) { m.Types, m.Names = m.Types[:7], m.Names[:7] },
	} {
		m := fits()
		change(&m)
		_, err := d.Match(m, o)
		if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestFromTableMap: a definition of the log fits what the log says.
func TestFromTableMap(t *testing.T) {
	m := TableMap{
		Types: []byte{1, 254, 252, 16, 242, 255, 254, 254}, Metas: []uint16{0, 254<<8 | 40, 2, 1<<8 | 1, 4, 4, 248<<8 | 1, 0xEE2C},
		Nullable: []bool{false, true, true, true, true, true, true, true}, Unsigned: make([]bool, 8), Collations: []uint16{0, 46, 63, 0, 0, 0, 45, 45},
		Names: []string{"a", "b", "c", "d", "e", "f", "g", "h"}, Labels: [][]string{6: {"p", "q"}, 7: nil}, Geometry: []uint64{5: 1, 7: 0}, Dimensions: []uint64{4: 3, 7: 0},
		Visible: []bool{true, false, true, true, true, true, true, true}, PrimaryKey: []int{0}, Prefixes: []uint64{0},
	}
	o := Options{Version: 90704}
	d, err := FromTableMap(schema.TableID{Schema: "d", Table: "t"}, m, o)
	if err != nil {
		t.Fatal(err)
	}
	c, e := NewCatalog(o, []Database{{Name: "d"}}, nil).Learn(d, 7)
	if e == nil || e.Kind != Create || e.Position != 7 {
		t.Fatalf("effect %+v", e)
	}
	want := `1 a tinyint NOT NULL
2 b char(10) utf8mb4/utf8mb4_bin INVISIBLE
3 c blob
4 d bit(9)
5 e vector(3)
6 f point
7 g set('p','q') utf8mb4/utf8mb4_general_ci
8 h char(75) utf8mb4/utf8mb4_general_ci
primary PRIMARY (a)
default /, version 1, rows told apart by (a)
`
	if got := describe(c, d.ID); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	m.Names = nil
	if _, err := FromTableMap(d.ID, m, o); !errors.Is(err, ErrUnknown) {
		t.Errorf("without names: %v", err)
	}
}

// TestHidden: the columns that the server makes for itself.
func TestHidden(t *testing.T) {
	old, maria := Options{Version: 80015}, Options{Version: 110809, MariaDB: true}
	_, d := oneTable(t, old, "CREATE TABLE t (a INT, KEY ((a + 1)))")
	c := NewCatalog(old, []Database{{Name: "d", Charset: "latin1", Complete: true}}, []Definition{*d})
	c, _, _ = c.Apply(Statement{SQL: "ALTER TABLE t ADD b INT", Database: "d"})
	d, _ = c.Definition(d.ID)
	three := TableMap{Types: []byte{3, 8, 3}, Metas: make([]uint16, 3)}
	if got, err := d.Match(three, old); err != nil || len(got) != 3 || got[0] != 0 || got[1] != -1 || got[2] != 1 {
		t.Errorf("an expression of a key: %v, %v", got, err)
	}
	// Read from the server, the definition does not have it; the log's names tell.
	_, d = oneTable(t, old, "CREATE TABLE t (a INT, b INT)")
	three.Names = []string{"a", "cae8a623cc417d219936676028e26d4f", "b"}
	if got, err := d.Match(three, old); err != nil || got[1] != -1 || got[2] != 1 {
		t.Errorf("an expression of a key by name: %v, %v", got, err)
	}
	_, d = oneTable(t, maria, "CREATE TABLE t (a INT, b TEXT, UNIQUE (b)) WITH SYSTEM VERSIONING")
	five := TableMap{Types: []byte{3, 252, 17, 17, 8}, Metas: []uint16{0, 2, 6, 6, 0}}
	if got, err := d.Match(five, maria); err != nil || got[1] != 1 || got[2] != -1 || got[4] != -1 {
		t.Errorf("versions and a hash: %v, %v", got, err)
	}
	five.Types, five.Metas = five.Types[:4], five.Metas[:4]
	if _, err := d.Match(five, maria); !errors.Is(err, ErrMismatch) {
		t.Errorf("without the hash: %v", err)
	}
	five.Types, five.Metas = five.Types[:2], five.Metas[:2]
	if _, err := d.Match(five, maria); !errors.Is(err, ErrMismatch) {
		t.Errorf("without any of them: %v", err)
	}
}

// TestPrune: tables of databases that nobody wants are forgotten, not their defaults.
func TestPrune(t *testing.T) {
	c, d := oneTable(t, Options{Version: 80400}, "CREATE TABLE t (a INT)")
	c, _, _ = c.Apply(Statement{SQL: "CREATE DATABASE e CHARSET latin1"})
	pruned := c.Prune(func(name string) bool { return name == "e" })
	if _, ok := pruned.Definition(d.ID); ok || len(pruned.Tables("d")) != 0 {
		t.Error("the table is still there")
	}
	if _, ok := c.Table(d.ID); !ok {
		t.Error("the catalogue before has changed")
	}
	if got := pruned.Databases(); len(got) != 2 || got[0].Complete || got[0].Charset != "utf8mb4" || !got[1].Complete || got[1].Charset != "latin1" {
		t.Errorf("databases %+v", got)
	}
	if gone := c.Forget(d.ID); len(gone.Tables("d")) != 0 || gone.Forget(d.ID) != gone {
		t.Error("Forget does not forget")
	}
}
