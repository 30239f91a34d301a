package ddl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

// TestGenerated applies the statements of the differential test without a server,
// those too that a server would refuse: effects hold together, and the catalogue
// survives checkpoints.
func TestGenerated(t *testing.T) {
	for _, o := range []Options{{Version: 90704}, {Version: 80015}, {Version: 101118, MariaDB: true}, {Version: 110809, MariaDB: true}} {
		t.Run(fmt.Sprint(o.Version), func(t *testing.T) {
			t.Parallel()
			o.Value.MariaDB = o.MariaDB
			for seed := range uint64(6) {
				generate(t, o, seed)
			}
		})
	}
}

func generate(t *testing.T, o Options, seed uint64) {
	databases := []Database{{Name: "d", Charset: "utf8mb4", Collation: "utf8mb4_bin", Complete: true}, {Name: "e", Charset: "latin1", Collation: "latin1_bin", Complete: true}}
	c := &serverCase{t: t, c: NewCatalog(o, databases, nil), databases: []string{"d", "e"}, st: Statement{Database: "e"}}
	g := &generator{rng: rand.New(rand.NewPCG(seed, 2)), c: c}
	for i := range 500 {
		for _, sql := range g.statement() {
			st := c.st
			st.SQL, st.Position = sql, uint64(i)
			if st.SQLMode = modeStrictTrans; g.chance(20) {
				st.SQLMode = 0
			}
			next, effects, err := c.c.Apply(st)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			for _, e := range effects {
				checkEffect(t, e)
				if e.Kind == Unknown {
					next = again(t, c.c, next, e.Table)
				}
			}
			c.c = next
		}
		if i%20 == 0 {
			checkRestored(t, c.c)
		}
	}
}

// again takes the definition before a statement that lost it for the one in force.
func again(t *testing.T, before, c *Catalog, id schema.TableID) *Catalog {
	d, ok := before.Definition(id)
	if !ok || len(d.Columns) == 0 {
		return c.Forget(id)
	}
	c, e := c.Learn(*d, 0)
	if e != nil {
		checkEffect(t, *e)
		if len(e.Changes) > 0 {
			t.Fatalf("a definition that was the same again changed: %+v", e.Changes[0])
		}
	}
	return c
}
