package ddl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator makes DDL at random, most of it valid for the catalogue's state.
type generator struct {
	rng *rand.Rand
	c   *serverCase
	n   int
}

func (g *generator) one(of ...string) string { return of[g.rng.IntN(len(of))] }
func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }
func (g *generator) mariadb() bool           { return g.c.c.o.MariaDB }
func (g *generator) version() int            { return g.c.c.o.Version }

// refused tells what the server said no to, to see what the generator is worth.
func (g *generator) refused(sql string, err error) { g.c.t.Logf("refused: %v: %.300s", err, sql) }

// maybe returns text in some cases, else nothing.
func (g *generator) maybe(percent int, text string) string {
	if g.chance(percent) {
		return " " + text
	}
	return ""
}

// fresh returns a name that was not there.
func (g *generator) fresh(prefix string) string {
	g.n++
	return fmt.Sprintf("%s%d", prefix, g.n)
}

// table returns any table, nil for none.
func (g *generator) table() *Definition {
	all := g.tables()
	if len(all) == 0 {
		return nil
	}
	return all[g.rng.IntN(len(all))]
}

func (g *generator) tables() []*Definition {
	var all []*Definition
	for _, name := range g.c.databases {
		all = append(all, g.c.c.Tables(name)...)
	}
	return all
}

// full writes a table's name, with its database where it has to be or at random.
func (g *generator) full(d *Definition) string { return g.name(d.ID.Schema, d.ID.Table) }

func (g *generator) name(database, table string) string {
	if database == g.c.st.Database && g.chance(50) {
		return g.one(table, "`"+table+"`")
	}
	return g.one(database+"."+table, "`"+database+"`.`"+table+"`", database+" . "+table)
}

func (g *generator) database() string { return g.c.databases[g.rng.IntN(len(g.c.databases))] }

// statement returns the next statement, or some that belong together.
func (g *generator) statement() []string {
	tables := g.tables()
	if len(tables) < 3 || len(tables) < 9 && g.chance(12) {
		return []string{g.createTable()}
	}
	d := tables[g.rng.IntN(len(tables))]
	switch n := g.rng.IntN(100); {
	case n < 66:
		return []string{g.alterTable(d)}
	case n < 70:
		return []string{g.createIndex(d)}
	case n < 72:
		return []string{g.dropIndex(d)}
	case n < 75:
		return []string{"DROP TABLE " + g.full(d)}
	case n < 81:
		return g.rename(d)
	case n < 83:
		return []string{g.one("TRUNCATE ", "TRUNCATE TABLE ") + g.full(d)}
	case n < 88:
		to := g.fresh("l")
		return []string{"CREATE TABLE " + g.name(g.database(), to) + g.one(" LIKE "+g.full(d), " (LIKE "+g.full(d)+")")}
	case n < 92:
		return []string{"CREATE TABLE " + g.name(g.database(), g.fresh("s")) + " AS SELECT * FROM " + g.full(d)}
	case n < 95:
		return []string{g.alterDatabase()}
	}
	return []string{g.comment(g.alterTable(d))}
}

func (g *generator) alterDatabase() string {
	return "ALTER DATABASE " + g.database() + " " + g.one("CHARACTER SET = "+g.charset(), "COLLATE "+g.collation(), "DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
}

// comment puts comments of all kinds around a statement.
func (g *generator) comment(sql string) string {
	if g.mariadb() {
		return g.one("/*!40000 "+sql+" */", "/*M!100100 "+sql+"*/", "/* x */ "+strings.Replace(sql, " ", " /*! */ ", 1), sql+" # end")
	}
	return g.one("/*!80000 "+sql+" */", "/*!"+sql+"*/", "/* x */ "+strings.Replace(sql, " ", "/*!80000 */ ", 1), sql+" -- end", sql+"/*!99999 garbage */", "# hello\n"+sql)
}

func (g *generator) charset() string {
	// Not ucs2 and sjis: the servers spoil labels of ENUM and SET on the way from and to them.
	return g.one("utf8mb4", "latin1", "utf8mb3", "utf8", "gbk", "ascii", "binary", "'euckr'", "koi8r")
}

func (g *generator) collation() string {
	if g.mariadb() && g.version() >= 101000 && g.chance(20) {
		return g.one("uca1400_ai_ci", "uca1400_as_cs", "utf8mb4_uca1400_swedish_ai_ci")
	}
	return g.one("utf8mb4_bin", "latin1_general_cs", "utf8mb3_unicode_ci", "utf8_bin", "gbk_bin", "utf8mb4_unicode_520_ci", "binary", "ascii_bin")
}

// charsetClause is what may follow a type with a character set.
func (g *generator) charsetClause() string {
	return g.one("", "", "", " CHARACTER SET "+g.charset(), " COLLATE "+g.collation(), " CHARSET utf8mb4 COLLATE utf8mb4_bin", " BINARY", " CHARACTER SET latin1 COLLATE latin1_german1_ci")
}

func (g *generator) number(from, to int) string { return fmt.Sprint(from + g.rng.IntN(to-from+1)) }

// integer is a type that can be AUTO_INCREMENT.
func (g *generator) integer() string {
	return g.one("INT", "BIGINT", "SMALLINT UNSIGNED", "TINYINT", "INTEGER(7)", "MEDIUMINT", "BIGINT UNSIGNED", "INT UNSIGNED ZEROFILL", "INT(4) ZEROFILL", "TINYINT(1)", "INT8", "INT3 SIGNED", "BIGINT(5)")
}

func (g *generator) plainType() string {
	types := []string{g.integer(), g.integer(), "BOOL", "FLOAT", "FLOAT(20)", "FLOAT(40)", "FLOAT(9,2) UNSIGNED", "DOUBLE", "DOUBLE PRECISION UNSIGNED", "REAL", "DECIMAL", "DECIMAL(7)", "DEC(12,4) UNSIGNED",
		"NUMERIC(65,30)", "FIXED(5,1) ZEROFILL", "BIT", "BIT(9)", "DATE", "TIME", "TIME(2)", "DATETIME", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(3) NULL", "YEAR", "BINARY", "BINARY(" + g.number(1, 20) + ")",
		"VARBINARY(" + g.number(1, 60) + ")", "TINYBLOB", "BLOB", "BLOB(" + g.number(1, 70000) + ")", "MEDIUMBLOB", "LONG VARBINARY", "LONGBLOB", "JSON", "GEOMETRY", "POINT", "GEOMETRYCOLLECTION", "CHAR BYTE"}
	if g.mariadb() {
		types = append(types, "INET6", "VARCHAR(100) COMPRESSED", "TEXT COMPRESSED", "YEAR(4)")
		if g.version() >= 100700 {
			types = append(types, "UUID", "INET4")
		}
	} else if g.version() >= 90000 {
		types = append(types, "VECTOR(5)", "POINT SRID 4326", "INT INVISIBLE")
	}
	return g.one(types...)
}

func (g *generator) textType() string {
	return g.one("CHAR", "CHAR("+g.number(1, 30)+")", "VARCHAR("+g.number(1, 300)+")", "VARCHAR(20)", "TINYTEXT", "TEXT", "TEXT("+g.number(1, 70000)+")", "MEDIUMTEXT", "LONGTEXT", "LONG VARCHAR", "CHARACTER VARYING(12)",
		"ENUM('a','b')", "ENUM('x y','it''s','\\\\', 'q ')", "SET('r','g','b')")
}

// columnType returns a type, with a character set where it has one.
func (g *generator) columnType() string {
	switch g.rng.IntN(20) {
	case 0:
		return g.one("NCHAR(3)", "NATIONAL VARCHAR(7)", "NVARCHAR(9)", "CHAR(5) ASCII", "CHAR(5) UNICODE")
	case 1, 2, 3, 4, 5, 6, 7:
		return g.textType() + g.charsetClause()
	}
	return g.plainType()
}

// spatialText reports whether a definition is that of a geometry: what MariaDB shows
// of ordinary keys of them changes from one statement to the next.
func spatialText(definition string) bool {
	return strings.HasPrefix(definition, "GEOMETRY") || strings.HasPrefix(definition, "POINT")
}

// definition returns the type and the attributes of a column.
func (g *generator) definition(alone bool) string {
	typ := g.columnType()
	if g.chance(6) {
		return "INT " + g.one("AS (1 + 1) ", "GENERATED ALWAYS AS (length('(')) ") + g.one("", "VIRTUAL", "STORED") + g.maybe(20, "COMMENT 'made'")
	}
	attributes := g.maybe(25, "NOT NULL") + g.maybe(8, "COMMENT 'it''s a \"c\"'")
	blob := strings.Contains(typ, "TEXT") || strings.Contains(typ, "BLOB") || strings.Contains(typ, "LONG") || strings.Contains(typ, "JSON") || strings.Contains(typ, "POINT") || strings.Contains(typ, "GEOMETRY")
	if !blob && !strings.Contains(attributes, "NOT NULL") && g.chance(10) {
		attributes += " DEFAULT NULL"
	}
	if strings.HasPrefix(typ, "INT") && !strings.Contains(typ, "NULL") && g.chance(40) {
		attributes += g.one(" DEFAULT 5", " DEFAULT 5 ", " DEFAULT +7", " DEFAULT -3", " DEFAULT '12'", " DEFAULT (1 + 1)")
	}
	if strings.HasPrefix(typ, "VARCHAR(20)") && g.chance(40) {
		attributes += g.one(" DEFAULT 'x'", ` DEFAULT "y"`, " DEFAULT ''")
	}
	if alone && g.chance(7) && !spatialText(typ) {
		attributes += g.one(" UNIQUE", " UNIQUE KEY")
	}
	if g.version() > 80023 && g.chance(5) {
		attributes += " INVISIBLE"
	}
	if g.mariadb() && g.chance(4) && strings.Contains(attributes, "DEFAULT") {
		attributes += " INVISIBLE"
	}
	return typ + attributes
}

func (g *generator) createTable() string {
	var parts []string
	var names []string
	for i := range 1 + g.rng.IntN(6) {
		name := fmt.Sprintf("c%d", i)
		definition := g.definition(true)
		if !spatialText(definition) {
			names = append(names, name)
		}
		parts = append(parts, g.one(name, "`"+name+"`")+" "+definition)
	}
	if g.chance(60) {
		parts = slices.Insert(parts, g.rng.IntN(len(parts)+1), g.one("id "+g.integer()+" PRIMARY KEY", "id "+g.integer()+" NOT NULL AUTO_INCREMENT PRIMARY KEY", "id INT KEY", "id SERIAL"))
		names = append(names, "id")
	}
	for len(names) > 0 && g.chance(45) {
		parts = append(parts, g.key(names))
	}
	if g.chance(8) {
		parts = append(parts, "CHECK (c0 IS NULL OR 1 <> ')')")
	}
	options := g.one("", "", "", " CHARSET "+g.charset(), " DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin", " COLLATE="+g.collation(), " CHARSET DEFAULT", " ENGINE=InnoDB COMMENT='a, b'", " COMMENT 'x' CHARSET latin1", " ENGINE InnoDB, ROW_FORMAT = DYNAMIC, STATS_PERSISTENT=1")
	return "CREATE TABLE " + g.maybe(20, "IF NOT EXISTS") + " " + g.name(g.database(), g.fresh("t")) + " (" + strings.Join(parts, ", ") + ")" + options
}

// key returns a key of some of the columns.
func (g *generator) key(names []string) string {
	var parts []string
	for _, i := range g.rng.Perm(len(names))[:1+g.rng.IntN(min(3, len(names)))] {
		parts = append(parts, "`"+names[i]+"`"+g.one("", "", "", "", " DESC", "("+g.number(1, 12)+")"))
	}
	if !g.mariadb() && g.chance(8) {
		parts = append(parts, "(("+names[0]+" IS NULL))"+g.one("", " DESC"))
	}
	list := " (" + strings.Join(parts, ", ") + ")"
	switch g.rng.IntN(12) {
	case 0, 1:
		return g.one("", "CONSTRAINT ", "CONSTRAINT pk ") + "PRIMARY KEY" + list
	case 2, 3, 4, 5:
		return g.one("UNIQUE", "UNIQUE KEY", "UNIQUE INDEX "+g.fresh("u"), "CONSTRAINT "+g.fresh("n")+" UNIQUE", "CONSTRAINT UNIQUE KEY "+g.fresh("u"), "UNIQUE "+g.fresh("u")+" USING BTREE", "UNIQUE USING HASH") + list + g.one("", " COMMENT 'k'", " USING BTREE")
	case 6:
		return g.one("CONSTRAINT "+g.fresh("f")+" ", "") + "FOREIGN KEY " + g.one("", g.fresh("x")) + " (`" + names[0] + "`) REFERENCES nowhere (a)"
	}
	return g.one("KEY", "INDEX", "KEY "+g.fresh("k"), "INDEX `"+g.fresh("i")+"` USING BTREE") + list
}
