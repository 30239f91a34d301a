package value

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// typeCase is a column type with values as SQL and what both paths make of them;
// no wanted values: they only have to agree. "!" is an error, of which the rest is a part.
type typeCase struct {
	typ    string // of the column
	kind   string // wanted, schema's
	values []string
	want   []string
	o      Options
	on     string // all, mysql, mariadb, or a part of the servers' names
	setup  string // a statement for the session before the table is made
}

// TestPaths compares the snapshot and the binlog, type by type and server by server.
func TestPaths(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		var cases []typeCase
		for _, c := range pathCases {
			if c.runsOn(s) {
				cases = append(cases, c)
			}
		}
		db.Exec("SET NAMES utf8mb4", "SET time_zone = '+00:00'")
		start := logPosition(db)
		index := map[string]int{}
		for i, c := range cases {
			name := fmt.Sprintf("t%d", i)
			index[name] = i
			db.Exec("SET sql_mode = 'ALLOW_INVALID_DATES'")
			if c.setup != "" {
				db.Exec(c.setup)
			}
			db.Exec(fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, pad VARCHAR(300) CHARACTER SET latin1, c %s, tail TINYINT NOT NULL)", name, c.typ))
			for j, v := range c.values {
				db.Exec(fmt.Sprintf("INSERT INTO %s (id, pad, c, tail) VALUES (%d, 'x', %s, 7)", name, j, v))
			}
		}
		session(db)
		logged := make([][]string, len(cases))
		readLog(t, db, start, func(m *event.TableMap, rows *event.Rows) {
			i, ok := index[string(m.Table)]
			if !ok {
				return
			}
			c := columns(t, definitions(t, db, string(m.Table)), cases[i].options(s))[2]
			logged[i] = append(logged[i], logValues(t, m, rows, 2, c, cases[i].options(s))...)
		})
		for i, tc := range cases {
			tc.compare(t, s, db, fmt.Sprintf("t%d", i), logged[i])
		}
	})
}

func (tc *typeCase) runsOn(s *mysqltest.Server) bool {
	switch tc.on {
	case "", "all":
		return true
	case "mysql", "mariadb":
		return (tc.on == "mariadb") == s.MariaDB
	}
	return strings.Contains(s.Name, tc.on)
}

func (tc *typeCase) options(s *mysqltest.Server) Options {
	o := tc.o
	o.MariaDB = s.MariaDB
	return o
}

func (tc *typeCase) compare(t *testing.T, s *mysqltest.Server, db *mysqltest.DB, table string, logged []string) {
	c := columns(t, definitions(t, db, table), tc.options(s))[2]
	if got := c.Type.String(); tc.kind != "" && got != tc.kind {
		t.Errorf("%s is %s, not %s", tc.typ, got, tc.kind)
	}
	read := snapshotValues(t, db, table, c, tc.options(s))
	if len(logged) != len(tc.values) || len(read) != len(tc.values) {
		t.Fatalf("%s: %d values, %d in the log, %d in the snapshot", tc.typ, len(tc.values), len(logged), len(read))
	}
	for i, v := range tc.values {
		if strings.HasPrefix(read[i], "!") && strings.HasPrefix(logged[i], "!") && i < len(tc.want) && strings.HasPrefix(tc.want[i], "!") {
			if part := tc.want[i][1:]; !strings.Contains(read[i], part) || !strings.Contains(logged[i], part) {
				t.Errorf("%s, %s: %q and %q, wanted an error with %q", tc.typ, v, read[i], logged[i], part)
			}
			continue
		}
		if read[i] != logged[i] {
			t.Errorf("%s, %.200s:\nsnapshot %.2000q\nbinlog   %.2000q", tc.typ, v, read[i], logged[i])
		} else if i < len(tc.want) && read[i] != tc.want[i] {
			t.Errorf("%s, %.200s: %.2000q, wanted %.2000q", tc.typ, v, read[i], tc.want[i])
		}
	}
}

func values(list ...string) []string { return list }

var pathCases = slices.Concat(numberCases, timeCases, textCases, byteCases, jsonCases, mariadbCases)
