package storm

import (
	"fmt"
	"strings"
)

// The number of columns beside the key stays between these.
const (
	minColumns = 3
	maxColumns = 14
)

// ddl returns a statement that changes the table.
func (t *table) ddl() string {
	t.used = map[string]bool{}
	clauses := []string{t.clause()}
	if clauses[0] == "" {
		return t.noise()
	}
	if t.rng.IntN(5) == 0 { // several in one statement, about different columns
		for range 1 + t.rng.IntN(3) {
			if c := t.clause(); c != "" {
				clauses = append(clauses, c)
			}
		}
	}
	return t.alter(strings.Join(clauses, ", "))
}

// alter writes the statement in one of the ways in which people write it.
func (t *table) alter(clauses string) string {
	name := quote(t.name)
	switch t.rng.IntN(5) {
	case 0:
		return "alter table " + name + "\n  " + clauses
	case 1:
		return "ALTER /* the storm */ TABLE " + name + " " + clauses + " -- so it goes"
	case 2:
		return "/*!50001 ALTER TABLE " + name + " " + clauses + " */"
	}
	return "ALTER TABLE " + name + " " + clauses
}

// noise is a statement that a copy need not know of.
func (t *table) noise() string {
	t.noises++
	name := quote(t.name)
	switch t.rng.IntN(5) {
	case 0:
		return fmt.Sprintf("ALTER TABLE %s COMMENT = 'number %d; DROP COLUMN'", name, t.noises)
	case 1:
		return fmt.Sprintf("CREATE INDEX i%d ON %s (version)", t.noises, name)
	case 2:
		return "ANALYZE TABLE " + name
	case 3:
		return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s.o%d (a int)", quote(t.other), t.noises)
	}
	return "ALTER TABLE " + name + " ENGINE = InnoDB"
}

// clause changes one column that the statement has not named yet; it returns ""
// where nothing offers itself.
func (t *table) clause() string {
	free := []int{}
	for i, c := range t.columns {
		if !t.used[c.name] {
			free = append(free, i)
		}
	}
	p := t.rng.IntN(100)
	switch {
	case len(t.columns) <= minColumns || p < 33 && len(t.columns) < maxColumns:
		return t.add()
	case len(free) == 0 || p >= 97:
		return ""
	}
	i := free[t.rng.IntN(len(free))]
	c := &t.columns[i]
	old := c.name
	t.used[old] = true
	switch {
	case p < 50:
		t.columns = append(t.columns[:i:i], t.columns[i+1:]...)
		t.dropped = append(t.dropped, old)
		return "DROP COLUMN " + quote(old)
	case p < 68:
		c.name = t.fresh()
		t.dropped = append(t.dropped, old)
		if t.rng.IntN(2) == 0 {
			return "RENAME COLUMN " + quote(old) + " TO " + quote(c.name)
		}
		if !c.widest() && t.rng.IntN(2) == 0 {
			c.step++
		}
		return "CHANGE COLUMN " + quote(old) + " " + quote(c.name) + " " + c.typ() + " NULL" + t.place()
	default:
		if !c.widest() {
			c.step += 1 + t.rng.IntN(len(kinds[c.kind].types)-1-c.step)
		}
		return "MODIFY COLUMN " + quote(c.name) + " " + c.typ() + " NULL" + t.place()
	}
}

func (t *table) add() string {
	c := column{name: t.fresh(), kind: t.rng.IntN(len(kinds))}
	place := t.place()
	t.columns = append(t.columns, c)
	return "ADD COLUMN " + quote(c.name) + " " + c.typ() + " NULL" + place
}

// place puts a column somewhere, not behind one that the same statement changes.
func (t *table) place() string {
	switch t.rng.IntN(4) {
	case 0:
		return " FIRST"
	case 1:
		if c := t.columns[t.rng.IntN(len(t.columns))]; !t.used[c.name] {
			t.used[c.name] = true
			return " AFTER " + quote(c.name)
		}
		return " AFTER `version`"
	}
	return ""
}

// fresh returns a name that no column has; now and then one that a column had.
func (t *table) fresh() string {
	if len(t.dropped) > 0 && t.rng.IntN(3) == 0 {
		i := t.rng.IntN(len(t.dropped))
		if name := t.dropped[i]; !t.used[name] {
			t.dropped = append(t.dropped[:i:i], t.dropped[i+1:]...)
			t.used[name] = true
			return name
		}
	}
	t.names++
	name := fmt.Sprintf([...]string{"c%d", "Größe %d", "c`%d", "order%d"}[t.rng.IntN(4)], t.names)
	t.used[name] = true
	return name
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
