package mysql

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// logged keeps what is logged.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// cascading makes a parent with children: the first two have rows that the parent's
// changes reach.
var cascading = []string{
	"CREATE TABLE p (id int PRIMARY KEY)",
	"CREATE TABLE gone (id int PRIMARY KEY, p int, CONSTRAINT `a ``fk` FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
	"CREATE TABLE both_ (id int PRIMARY KEY, p int, q int, CONSTRAINT b1 FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE CASCADE, CONSTRAINT b2 FOREIGN KEY (q) REFERENCES p (id))",
	"CREATE TABLE plain (id int PRIMARY KEY, p int COMMENT 'x\n  CONSTRAINT `no` FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE', CONSTRAINT c1 FOREIGN KEY (p) REFERENCES p (id) ON DELETE RESTRICT ON UPDATE NO ACTION)",
	"INSERT INTO p VALUES (1), (2)", "INSERT INTO gone VALUES (1, 1), (2, 2)",
}

// notesOf returns the notes about foreign keys that Discover has, by table.
func notesOf(t *testing.T, src *Source) map[string][]string {
	t.Helper()
	tables, err := src.Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, tab := range tables {
		for _, n := range tab.Notes {
			if strings.HasPrefix(n, "foreign key") {
				out[tab.Schema.ID.Table] = append(out[tab.Schema.ID.Table], n)
			}
		}
	}
	return out
}

// TestCascades: foreign keys that change rows below the binlog are named, to an account with
// the documented privileges, by plan, validate and at the start; where the binlog has the
// changes nothing is said, and they arrive.
func TestCascades(t *testing.T) {
	servers := mysqltest.Servers(t)
	native := mysqltest.Private(t, "MySQL97", "innodb-native-foreign-keys=ON").Server
	native.Name += "Native"
	for _, s := range append(slices.Clone(servers), native) {
		t.Run(s.Name, func(t *testing.T) {
			db := openDatabase(t, s)
			run(t, db, 1, cascading...)
			account := s.Account(t, minimal(s, db.Database)...)
			var log logged
			src := db.newSource(t, map[string]string{"username": account.User, "password": account.Password}, db.all)
			src.logger = slog.New(slog.NewTextHandler(&log, nil))
			notes := notesOf(t, src)
			if problems := src.Check(t.Context()); len(problems) > 0 {
				t.Errorf("%v", problems)
			}
			checked := strings.Count(log.String(), "a foreign key changes rows")
			b := breakAt(t, db, src, nil)
			b.settle(t, "p", "gone")
			started := strings.Count(log.String(), "a foreign key changes rows") - checked
			run(t, db, 1, "DELETE FROM p WHERE id = 1", "ALTER TABLE gone ADD COLUMN x int",
				"ALTER TABLE plain DROP FOREIGN KEY c1, ADD CONSTRAINT c2 FOREIGN KEY (p) REFERENCES p (id) ON UPDATE SET NULL")
			if s.Name == "MySQL97" {
				if len(notes) != 0 || checked != 0 || started != 0 {
					t.Errorf("%v, %s", notes, log.String())
				}
				b.settle(t, "p", "gone")
				return
			}
			b.settle(t, "p")
			if got := b.out.lines(schema.TableID{Schema: db.Database, Table: "gone"}); len(got) != 2 {
				t.Errorf("the binlog has it: %q", got)
			}
			for deadline := time.Now().Add(10 * time.Second); !strings.Contains(log.String(), "constraint=c2"); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("nothing is said of one that came later: %s", log.String())
				}
			}
			if n := strings.Count(log.String(), "a foreign key changes rows"); n != checked+started+1 {
				t.Errorf("said %d times", n)
			}
			if len(notes) != 2 || len(notes["gone"]) != 1 || len(notes["both_"]) != 1 || checked != 2 || started != 2 {
				t.Errorf("%v, %d, %d: %s", notes, checked, started, log.String())
			}
			for table, says := range map[string]string{"gone": "foreign key a `fk (ON DELETE CASCADE)", "both_": "foreign key b1 (ON DELETE SET NULL ON UPDATE CASCADE)"} {
				if !strings.Contains(strings.Join(notes[table], ""), says) || !strings.Contains(log.String(), table) {
					t.Errorf("%q", notes[table])
				}
			}
		})
	}
}
