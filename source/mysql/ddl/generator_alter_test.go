package ddl

import (
	"fmt"
	"slices"
	"strings"
)

// columnOf returns the name of a column of d, in any case.
func (g *generator) columnOf(d *Definition) string {
	var names []string
	for _, c := range d.Columns {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	name := g.one(names...)
	return g.one(name, name, "`"+name+"`", strings.ToUpper(name))
}

func (g *generator) columnsOf(d *Definition) []string {
	var names []string
	for _, c := range d.Columns {
		if name, _ := splitType(c.ColumnType); !c.Hidden && !isSpatial(name) {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return []string{"nothing"}
	}
	return names
}

func (g *generator) keyOf(d *Definition) string {
	if len(d.Keys) == 0 {
		return "nothing"
	}
	return "`" + d.Keys[g.rng.IntN(len(d.Keys))].Name + "`"
}

func (g *generator) place(d *Definition) string {
	return g.one("", "", "", " FIRST", " AFTER "+g.columnOf(d), " AFTER "+g.columnOf(d))
}

func (g *generator) exists(not string) string {
	if g.mariadb() && g.chance(25) {
		return "IF " + not + "EXISTS "
	}
	return ""
}

// newName returns a name for a column: mostly new, sometimes one that was there.
func (g *generator) newName(d *Definition) string {
	if g.chance(12) {
		return g.columnOf(d)
	}
	return g.fresh("c")
}

// oldMySQL is 8.0.15.
func (g *generator) oldMySQL() bool { return g.version() < 80023 }

// crashes reports whether servers crash now and then at a statement that does
// something else beside this: 8.0.15 where it converts, MariaDB 10.11 where it swaps names.
func (g *generator) crashes(part string) bool {
	return g.oldMySQL() && strings.HasPrefix(part, "CONVERT") || g.mariadb() && strings.Count(part, "RENAME COLUMN") > 1
}

func (g *generator) alterTable(d *Definition) string {
	var parts []string
	charsets := 0
	for range 1 + g.rng.IntN(3)*g.rng.IntN(2) {
		p := g.part(d)
		if charset := strings.HasPrefix(p, "CONVERT") || strings.HasPrefix(p, "DEFAULT CHAR") || strings.HasPrefix(p, "CHARACTER SET") || strings.HasPrefix(p, "COLLATE"); charset {
			if charsets++; charsets > 1 {
				continue // what two of them mean is nobody's business
			}
		}
		parts = append(parts, p)
	}
	if i := slices.IndexFunc(parts, g.crashes); i >= 0 {
		parts = parts[i : i+1]
	}
	if g.chance(6) {
		parts = append(parts, g.one("ALGORITHM=INPLACE", "ALGORITHM = COPY", "LOCK=NONE", "ALGORITHM=INSTANT", "LOCK DEFAULT", "FORCE"))
	}
	if g.chance(4) && (!g.oldMySQL() || len(parts) == 1) {
		parts = append(parts, "RENAME "+g.one("", "TO ", "AS ")+g.name(g.database(), g.fresh("r")))
	}
	head := "ALTER TABLE "
	if g.mariadb() {
		head = g.one("ALTER TABLE ", "ALTER TABLE ", "ALTER TABLE ", "ALTER ONLINE TABLE ", "ALTER IGNORE TABLE ", "ALTER TABLE IF EXISTS ", "SET STATEMENT lock_wait_timeout=5 FOR ALTER TABLE ")
	}
	return head + g.full(d) + " " + strings.Join(parts, ", ")
}

func (g *generator) part(d *Definition) string {
	switch g.rng.IntN(26) {
	case 0, 1, 2, 3, 4:
		return "ADD " + g.one("COLUMN ", "") + g.exists("NOT ") + g.newName(d) + " " + g.definition(true) + g.place(d)
	case 5:
		return "ADD " + g.one("COLUMN ", "") + "(" + g.newName(d) + " " + g.definition(true) + ", " + g.fresh("c") + " " + g.definition(true) + ")"
	case 6, 7, 8:
		return "DROP " + g.one("COLUMN ", "") + g.exists("") + g.columnOf(d) + g.one("", "", " RESTRICT")
	case 9, 10, 11:
		return "MODIFY " + g.one("COLUMN ", "") + g.exists("") + g.columnOf(d) + " " + g.definition(g.chance(10)) + g.place(d)
	case 12, 13:
		return "CHANGE " + g.one("COLUMN ", "") + g.exists("") + g.columnOf(d) + " " + g.newName(d) + " " + g.definition(false) + g.place(d)
	case 14:
		return "RENAME COLUMN " + g.columnOf(d) + " TO " + g.newName(d)
	case 15:
		a, b := g.columnOf(d), g.columnOf(d)
		return fmt.Sprintf("RENAME COLUMN %s TO %s, RENAME COLUMN %s TO %s", a, b, b, a)
	case 16:
		return "ALTER " + g.one("COLUMN ", "") + g.columnOf(d) + g.one(" SET DEFAULT 3", " DROP DEFAULT", " SET DEFAULT 'z'", " SET DEFAULT NULL", " SET DEFAULT (1+2)", " SET INVISIBLE", " SET VISIBLE")
	case 17, 18, 19:
		return "ADD " + g.key(g.columnsOf(d))
	case 20:
		return g.one("DROP KEY ", "DROP INDEX ") + g.exists("") + g.keyOf(d)
	case 21:
		return g.one("DROP PRIMARY KEY", "DROP CONSTRAINT "+g.keyOf(d), "DROP PRIMARY KEY, ADD PRIMARY KEY ("+g.columnOf(d)+")")
	case 22:
		return g.one("RENAME KEY ", "RENAME INDEX ") + g.keyOf(d) + " TO " + g.fresh("k")
	case 23:
		return "CONVERT TO " + g.one("CHARACTER SET ", "CHARSET ") + g.one(g.charset(), g.charset(), "utf8mb4 COLLATE utf8mb4_bin", "DEFAULT", "latin1 COLLATE latin1_bin")
	case 24:
		return g.one("DEFAULT CHARSET "+g.charset(), "CHARACTER SET = "+g.charset(), "COLLATE "+g.collation(), "DEFAULT CHARSET DEFAULT", "DEFAULT CHARSET=latin1 COLLATE latin1_bin")
	}
	return g.one("COMMENT 'c "+g.number(1, 9)+"'", "ENGINE=InnoDB", "ENGINE = InnoDB ROW_FORMAT=DYNAMIC", "FORCE", "AUTO_INCREMENT = 100", "STATS_PERSISTENT=0, COMMENT = ''")
}

func (g *generator) createIndex(d *Definition) string {
	name := g.fresh("i")
	head := "CREATE "
	if g.mariadb() {
		head = g.one("CREATE ", "CREATE OR REPLACE ")
		if head != "CREATE " {
			name = g.one(name, g.keyOf(d))
		}
	}
	column := g.one(g.columnsOf(d)...)
	return head + g.one("", "UNIQUE ", "UNIQUE ") + "INDEX " + name + g.one("", " USING BTREE") + " ON " + g.full(d) + " (" + column + g.one("", "", "(5)") + ")" + g.one("", " COMMENT 'x'", " ALGORITHM=INPLACE", " ALGORITHM DEFAULT LOCK = DEFAULT")
}

func (g *generator) dropIndex(d *Definition) string {
	return "DROP INDEX " + g.exists("") + g.keyOf(d) + " ON " + g.full(d) + g.one("", " LOCK=DEFAULT")
}

// rename moves and swaps tables, by hand and as online schema changes do.
func (g *generator) rename(d *Definition) []string {
	other := g.table()
	table, db := d.ID.Table, d.ID.Schema
	switch g.rng.IntN(5) {
	case 0:
		return []string{"RENAME TABLE " + g.full(d) + " TO " + g.name(g.database(), g.fresh("m"))}
	case 1:
		tmp := g.name(db, g.fresh("tmp"))
		return []string{fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s, %s TO %s", g.full(d), tmp, g.full(other), g.full(d), tmp, g.full(other))}
	case 2: // gh-ost
		shadow, old := g.name(db, "_"+table+"_gho"), g.name(db, "_"+table+"_del")
		return []string{"CREATE TABLE " + shadow + " LIKE " + g.full(d), "ALTER TABLE " + shadow + " " + g.part(d), "RENAME /* gh-ost */ TABLE " + g.full(d) + " TO " + old + ", " + shadow + " TO " + g.full(d), "DROP TABLE IF EXISTS " + old}
	case 3: // pt-online-schema-change
		shadow, old := g.name(db, "_"+table+"_new"), g.name(db, "_"+table+"_old")
		return []string{"CREATE TABLE " + shadow + " LIKE " + g.full(d), "ALTER TABLE " + shadow + " " + g.part(d), "RENAME TABLE " + g.full(d) + " TO " + old + ", " + shadow + " TO " + g.full(d), "DROP TABLE " + old}
	}
	return []string{"RENAME TABLES " + g.full(d) + " TO " + g.name(db, g.fresh("m")) + ", " + g.full(other) + " TO " + g.name(g.database(), g.fresh("m"))}
}
