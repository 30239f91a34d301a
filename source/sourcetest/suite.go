package sourcetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// Database is one empty database on a real server.
type Database interface {
	// Exec runs one statement, or several as one transaction, over a connection
	// that is its caller's: client numbers them. Statements are plain SQL.
	Exec(client int, sql ...string) error
	// Source returns a source over all tables of the database; each call with a
	// new log name has a log of its own. Options are the source's.
	Source(t *testing.T, log string, options map[string]string) source.Source
	// Touch moves the log of an idle server on.
	Touch() error
}

// Harness is what the suite needs of a source.
type Harness struct {
	// Open returns an empty database; it ends with the test.
	Open func(t *testing.T) Database
	// Backend makes the keyed state of readers.
	Backend state.Backend
	// BigText is the type of a column whose value may be left out of an update
	// that does not change it, Keyless appends what a table without a key needs
	// so that updates and deletes of it are in the log.
	BigText string
	Keyless func(table string) []string
	// Disturb returns statements that move the rows of a table without changing
	// them, each time to other places; nil for none. column is an int column.
	Disturb func(table, column string, n int) []string
	// WholeKeyChanges: an update that changes the key also changes everything else,
	// for the log may leave out what did not change, and a new key has no row yet.
	WholeKeyChanges bool
	// ChunkOptions make chunks small.
	ChunkOptions map[string]string
	// Slow multiplies all waiting.
	Slow int
	// Cases are the names of the cases to run, empty for all.
	Cases []string
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	h.Slow = max(h.Slow, 1)
	for _, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"SnapshotAndChanges", h.snapshotAndChanges}, {"Restarts", h.restarts}, {"Disturbed", h.disturbed}, {"Truncate", h.truncate}, {"Alter", h.alter},
		{"NewTable", h.newTable}, {"SnapshotMode", h.snapshotMode}, {"LatestMode", h.latestMode}, {"Idle", h.idle},
	} {
		if len(h.Cases) == 0 || slices.Contains(h.Cases, c.name) {
			t.Run(c.name, c.run)
		}
	}
}

// seed of every random choice; printed by a failure's name alone since it is fixed.
const seed = 20261130

// tables of the suite. ver grows with every write of a row.
func (h Harness) create(t *testing.T, db Database, rows int) {
	t.Helper()
	must(t, db.Exec(0,
		"CREATE TABLE acct_a (id int PRIMARY KEY, n int NOT NULL, ver bigint NOT NULL)",
		"CREATE TABLE acct_b (id int PRIMARY KEY, n int NOT NULL, ver bigint NOT NULL)",
		"CREATE TABLE things (id int NOT NULL, sub varchar(20) NOT NULL, v varchar(200), big "+h.BigText+", ver bigint NOT NULL, PRIMARY KEY (id, sub))",
		"CREATE TABLE bag (a int, v varchar(40))",
		"CREATE TABLE nothing (id int PRIMARY KEY, ver bigint)"))
	must(t, db.Exec(0, h.Keyless("bag")...))
	for _, table := range []string{"acct_a", "acct_b"} {
		fill(t, db, table, rows, func(i int) string { return fmt.Sprintf("(%d, 100, 0)", i) })
	}
	fill(t, db, "things", rows, func(i int) string {
		big := "NULL"
		if i%10 == 0 {
			big = quote(bigText(i))
		}
		return fmt.Sprintf("(%d, 's%d', '%s', %s, 0)", i, i%3, strings.Repeat("v", i%150), big)
	})
	fill(t, db, "bag", rows/2, func(i int) string { return fmt.Sprintf("(%d, 'b%d')", i%50, i%7) })
}

// bigText is long and does not compress, so that the server stores it apart.
func bigText(n int) string {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	b := make([]byte, 9000)
	for i := range b {
		b[i] = byte('!' + r.IntN(90))
		if b[i] == '\'' || b[i] == '\\' {
			b[i] = 'x'
		}
	}
	return string(b)
}

func quote(s string) string { return "'" + s + "'" }

func fill(t *testing.T, db Database, table string, rows int, row func(i int) string) {
	t.Helper()
	for from := 0; from < rows; from += 500 {
		var values []string
		for i := from; i < min(from+500, rows); i++ {
			values = append(values, row(i))
		}
		must(t, db.Exec(0, "INSERT INTO "+table+" VALUES "+strings.Join(values, ", ")))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// balanced checks that the accounts hold what they held at first, once no
// snapshot of them runs: a checkpoint inside a transaction would break it.
func balanced(rows int) func(*Model) error {
	return func(m *Model) error {
		sum := 0
		for _, name := range []string{"acct_a", "acct_b"} {
			t := find(m, name)
			if t == nil || t.Snapshot || len(t.Rows) != rows {
				return nil // not complete, or emptied by a TRUNCATE
			}
			for _, r := range t.Rows {
				var n int
				fmt.Sscan(r["n"], &n)
				sum += n
			}
		}
		if sum != 200*rows {
			return fmt.Errorf("the accounts hold %d, not %d: the checkpoint is no state of the database", sum, 200*rows)
		}
		return nil
	}
}

func find(m *Model, name string) *ModelTable {
	for id, t := range m.Tables {
		if id.Table == name {
			return t
		}
	}
	return nil
}

// Settle waits until a checkpoint holds all that the database holds, and compares.
func (h Harness) Settle(t *testing.T, db Database, src source.Source, l *Log) {
	t.Helper()
	l.Delay.Store(0)
	must(t, db.Touch())
	tables, err := src.Discover(t.Context())
	must(t, err)
	want := make(map[schema.TableID][]string)
	var high uint64
	for _, info := range tables {
		lines, pos, err := content(t, src, info.Schema)
		must(t, err)
		want[info.Schema.ID], high = lines, max(high, pos)
	}
	deadline := time.Now().Add(time.Duration(h.Slow) * 60 * time.Second)
	for {
		if err := l.Err(); err != nil {
			t.Fatalf("reader: %v", err)
		}
		if m, pos := l.Last(); m != nil && pos >= high && l.Progress().SnapshotDone && !m.inSnapshot(want) {
			compare(t, m, want)
			return
		}
		if time.Now().After(deadline) {
			_, pos := l.Last()
			t.Fatalf("no checkpoint reaches %s, the last is at %s, %+v", src.FormatPosition(high), src.FormatPosition(pos), l.Progress())
		}
		must(t, db.Touch())
		time.Sleep(50 * time.Millisecond)
	}
}

func content(t *testing.T, src source.Source, def *schema.Table) (lines []string, position uint64, err error) {
	position, err = src.Rows(t.Context(), def, func(b *schema.Batch) error {
		for i := range b.Rows() {
			lines = append(lines, flat(values(def, b.Record, i)))
		}
		return nil
	})
	slices.Sort(lines)
	return lines, position, err
}

// compare reports the first differences of each table.
func compare(t *testing.T, m *Model, want map[schema.TableID][]string) {
	t.Helper()
	for id, w := range want {
		table := m.Tables[id]
		if table == nil {
			t.Errorf("%s was never announced", id)
			continue
		}
		if table.Snapshot {
			t.Errorf("%s: the snapshot has not ended", id)
		}
		got := table.Lines()
		if slices.Equal(got, w) {
			continue
		}
		t.Errorf("%s: %d rows, the database has %d", id, len(got), len(w))
		for i, n := 0, 0; i < max(len(got), len(w)) && n < 3; i++ {
			g, x := at(got, i), at(w, i)
			if g != x {
				t.Errorf("  row %d: got %.300s\n          want %.300s", i, g, x)
				n++
			}
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(none)"
}
