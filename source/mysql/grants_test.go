package mysql

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

func TestParseGrants(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		fold  bool
		sees  map[string]bool
	}{
		{"All", []string{"GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION"}, false, map[string]bool{"a": true}},
		{"AllButOne", []string{"GRANT INSERT, SELECT, UPDATE ON *.* TO `u`@`%`", "REVOKE SELECT ON `b`.* FROM `u`@`%`"}, false, map[string]bool{"a": true, "b": false}},
		{"Databases", []string{"GRANT USAGE ON *.* TO `u`@`%`", "GRANT SELECT ON `a\\_x`.* TO `u`@`%`", "GRANT SELECT ON `c``d`.* TO `u`@`%`"}, false,
			map[string]bool{"a_x": true, "c`d": true, "b": false, "A_x": false}},
		{"Folded", []string{"GRANT SELECT ON `a`.* TO `u`@`%`"}, true, map[string]bool{"A": true, "b": false}},
		{"OtherPrivileges", []string{"GRANT REPLICATION SLAVE ON *.* TO `u`@`%`", "GRANT SHOW VIEW ON `a`.* TO `u`@`%`", "GRANT `role`@`%` TO `u`@`%`"}, false, map[string]bool{"a": false}},
		{"Tables", []string{"GRANT SELECT ON `a`.`t` TO `u`@`%`", "GRANT SELECT (x), INSERT ON `b`.`t` TO `u`@`%`"}, false, map[string]bool{"a": false, "b": false}},
		{"Wildcard", []string{"GRANT SELECT ON `a%`.* TO `u`@`%`"}, false, map[string]bool{"ab": false}},
		{"None", nil, false, map[string]bool{"a": false}},
	} {
		g := parseGrants(c.lines, c.fold)
		for database, want := range c.sees {
			if got := g.sees(database); got != want {
				t.Errorf("%s: sees %s: %t", c.name, database, got)
			}
		}
	}
}

// TestHiddenTables: the account sees some tables of a database. From one that it does not
// see nothing is concluded: CREATE TABLE IF NOT EXISTS does not make it a new one with other
// columns than it has, nor an empty one.
func TestHiddenTables(t *testing.T) {
	for name, grant := range map[string]string{"Hidden": "", "SeenLater": "GRANT SELECT ON `%s`.u TO '%s'@'%%'"} {
		t.Run(name, func(t *testing.T) {
			mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
				db := openDatabase(t, s)
				run(t, db, 1, rows("")...)
				run(t, db, 1, "CREATE TABLE u (id int PRIMARY KEY, a int, b int)", "INSERT INTO u VALUES (1, 2, 3)")
				client := "REPLICATION SLAVE, REPLICATION CLIENT ON *.*"
				account := s.Account(t, client, fmt.Sprintf("SELECT ON `%s`.t", db.Database))
				b := breakAt(t, db, db.newSource(t, map[string]string{"username": account.User, "password": account.Password, "scan.binlog.newly-added-table.enabled": "true"}, db.all), nil)
				b.settle(t, "t")
				if grant != "" {
					run(t, db, 1, fmt.Sprintf(grant, db.Database, account.User))
				}
				run(t, db, 1, "CREATE TABLE IF NOT EXISTS u (id int PRIMARY KEY, b int, a int)", "INSERT INTO u VALUES (4, 5, 6)", "DELETE FROM t WHERE id = 5")
				if s.MariaDB { // it does not log what did nothing; so these are rows of nobody knows what
					if err := <-b.done; !errors.Is(err, binlog.ErrDefinition) || !strings.Contains(err.Error(), "grant SELECT on it") {
						t.Errorf("error %v", err)
					}
					return
				}
				b.settle(t, "t")
				if got := b.out.lines(b.id("u")); got != nil || b.out.count("u "+schema.ChangeCreateTable.String()) != 0 {
					t.Errorf("the table is captured: %q", got)
				}
				// One that is new for sure is captured.
				run(t, db, 1, "CREATE TABLE v (id int PRIMARY KEY)", "INSERT INTO v VALUES (7)", fmt.Sprintf("GRANT SELECT ON `%s`.v TO '%s'@'%%'", db.Database, account.User))
				b.settle(t, "t", "v")
			})
		})
	}
}
