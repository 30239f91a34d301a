package ddl

import (
	"encoding/json"
	"testing"
)

// TestLostSaved: a checkpoint keeps why a definition is not known, and what made it so.
func TestLostSaved(t *testing.T) {
	o := Options{Version: 90704}
	c, d := oneTable(t, o, "CREATE TABLE t (id INT PRIMARY KEY, a INT)")
	c, _, _ = c.Apply(Statement{SQL: "ALTER TABLE t FANCY", Database: "d", Position: 77})
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Restore(data, o); err != nil {
		t.Fatal(err)
	}
	lost, _ := c.Definition(d.ID)
	if _, err := lost.Table(); err == nil || lost.LostBy != "ALTER TABLE t FANCY" || lost.LostAt != 77 || lost.LostRows {
		t.Errorf("restored %+v, %v", lost, err)
	}
	next := *d
	if c, _ = c.Learn(next, 78); c == nil {
		t.Fatal("no catalogue")
	}
	if got, _ := c.Definition(d.ID); got.Lost != "" || got.LostBy != "" || got.LostAt != 0 {
		t.Errorf("learned %+v", got)
	}
}
