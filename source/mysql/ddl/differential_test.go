package ddl

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

var (
	ddlStatements = flag.Int("ddl.statements", 400, "statements of TestDifferential on each server")
	ddlSeed       = flag.Uint64("ddl.seed", 20261131, "seed of TestDifferential, 0 for one of the time")
)

// TestDifferential executes random DDL on real servers and compares the catalogue
// with information_schema behind each statement.
func TestDifferential(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		seed := *ddlSeed
		if seed == 0 {
			seed = uint64(time.Now().UnixNano())
		}
		t.Logf("-ddl.seed=%d -ddl.statements=%d", seed, *ddlStatements)
		c := newServerCase(t, s, 2)
		g := &generator{rng: rand.New(rand.NewPCG(seed, 1)), c: c}
		failed, maps, start := 0, 0, time.Now()
		for i := range *ddlStatements {
			for _, sql := range g.statement() {
				if _, err := c.run(sql); err != nil {
					failed++
					if testing.Verbose() {
						g.refused(sql, err)
					}
				}
			}
			c.compare(i%50 == 49)
			if i%20 == 19 {
				maps += c.checkTableMaps(s)
			}
		}
		t.Logf("%d statements, %d of them refused by the server, %d tables matched with the log, in %s", *ddlStatements, failed, maps, time.Since(start))
		if failed > *ddlStatements*3/4 {
			t.Errorf("the server refused most statements, so that little was tested")
		}
	})
}
