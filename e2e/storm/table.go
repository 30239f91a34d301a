package storm

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// table is a table as it is now.
type table struct {
	rng     *rand.Rand
	name    string
	other   string          // a database that no copy looks at
	columns []column        // beside the key id and version
	dropped []string        // names that columns had
	used    map[string]bool // the columns that the statement names already
	names   int             // fresh names so far
	noises  int
	ids     []int64 // of the rows that are there
	next    int64
}

func newTable(seed uint64, number int, other string) *table {
	t := &table{rng: rand.New(rand.NewPCG(seed, uint64(number))), name: fmt.Sprintf("t%d", number), other: other, used: map[string]bool{}}
	for range minColumns + t.rng.IntN(5) {
		t.columns = append(t.columns, column{name: t.fresh(), kind: t.rng.IntN(len(kinds))})
	}
	return t
}

// create returns the statements that make the table with its first rows.
func (t *table) create(rows int) []string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (id bigint PRIMARY KEY, version bigint NOT NULL", quote(t.name))
	for _, c := range t.columns {
		fmt.Fprintf(&b, ", %s %s NULL", quote(c.name), c.typ())
	}
	statements := []string{b.String() + ")"}
	for len(t.ids) < rows {
		statements = append(statements, t.insert())
	}
	return statements
}

// change returns a statement that changes one row.
func (t *table) change() string {
	p := t.rng.IntN(100)
	switch {
	case p < 40 || len(t.ids) < 10:
		return t.insert()
	case p < 55:
		i := t.rng.IntN(len(t.ids))
		id := t.ids[i]
		t.ids[i] = t.ids[len(t.ids)-1]
		t.ids = t.ids[:len(t.ids)-1]
		return fmt.Sprintf("DELETE FROM %s WHERE id = %d", quote(t.name), id)
	}
	i := t.rng.IntN(len(t.ids))
	id := t.ids[i]
	sets := []string{"version = version + 1"}
	if p >= 97 {
		t.next++
		t.ids[i] = t.next
		sets = append(sets, fmt.Sprintf("id = %d", t.next))
	}
	for _, c := range t.columns {
		if t.rng.IntN(2) == 0 {
			sets = append(sets, quote(c.name)+" = "+c.literal(t.rng))
		}
	}
	return fmt.Sprintf("UPDATE %s SET %s WHERE id = %d", quote(t.name), strings.Join(sets, ", "), id)
}

func (t *table) insert() string {
	t.next++
	t.ids = append(t.ids, t.next)
	names, values := []string{"id", "version"}, []string{fmt.Sprint(t.next), "1"}
	for _, c := range t.columns {
		if t.rng.IntN(6) > 0 {
			names, values = append(names, quote(c.name)), append(values, c.literal(t.rng))
		}
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quote(t.name), strings.Join(names, ", "), strings.Join(values, ", "))
}
