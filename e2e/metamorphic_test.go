package e2e

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/e2e/workload"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// variant is one way to run the same pipeline.
type variant struct {
	name, mode             string
	source, sink, settings map[string]string
}

// variants differ in everything that must not matter.
var variants = []variant{
	{"p1-hashmap", "upsert", nil, nil, map[string]string{"parallelism": "1", "state.backend.type": "hashmap", "execution.checkpointing.interval": "1s"}},
	{"p2-pebble", "upsert", nil, nil, map[string]string{"parallelism": "2", "state.backend.type": "pebble", "execution.checkpointing.interval": "200ms"}},
	{"p4-pebble", "upsert", nil, nil, map[string]string{"parallelism": "4", "state.backend.type": "pebble", "execution.checkpointing.interval": "5s"}},
	{"p2-small", "upsert", map[string]string{"scan.incremental.snapshot.chunk.size": "300", "scan.snapshot.parallelism": "4"},
		map[string]string{"write.buffer-bytes": "1mb", "write.target-file-size-bytes": "1mb"},
		map[string]string{"parallelism": "2", "state.backend.type": "hashmap", "execution.checkpointing.interval": "500ms"}},
	{"p1-append", "append", nil, nil, map[string]string{"parallelism": "1", "state.backend.type": "pebble", "execution.checkpointing.interval": "300ms"}},
	{"p4-append", "append", map[string]string{"scan.incremental.snapshot.chunk.size": "500"}, nil,
		map[string]string{"parallelism": "4", "state.backend.type": "hashmap", "execution.checkpointing.interval": "2s"}},
}

// TestMetamorphic runs the same workload through every variant, each of which
// takes its snapshot while the workload writes, and compares all of them with
// the source by a reader that is not ours.
func TestMetamorphic(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		url := newDatabase(t)
		conn := connect(t, url)
		metamorphic(t, url, func(p process.Pipeline) {
			slotActive(t, conn, "freshet_"+underscores(p.Name))
		}, func() (from int64) {
			if err := conn.QueryRow(t.Context(), "SELECT pg_current_wal_insert_lsn() - '0/0'").Scan(&from); err != nil {
				t.Fatal(err)
			}
			return from
		})
	})
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		if !servers.Full() && db.Name != "MySQL97" && db.Name != "MariaDB118" {
			return // the newest of each kind will do
		}
		metamorphic(t, db.URL(), func(process.Pipeline) { time.Sleep(time.Second) }, func() int64 { return mysqlPosition(t, db) })
	})
}

// mysqlPosition is the end of the binlog as a position of a changelog.
func mysqlPosition(t *testing.T, db *mysqltest.DB) int64 {
	t.Helper()
	files := db.Query("SHOW BINARY LOGS")
	last := files[len(files)-1]
	number, err := strconv.ParseInt(last[0][strings.LastIndex(last[0], ".")+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	size, err := strconv.ParseInt(last[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return number<<40 | size
}

// metamorphic runs all variants on one database; running waits until a pipeline
// works, and position is where the log ends.
func metamorphic(t *testing.T, url string, running func(p process.Pipeline), position func() int64) {
	t.Helper()
	changes := int64(3000)
	if servers.Full() {
		changes = 20_000
	}
	w, err := workload.New(url, workload.Config{Seed: 3, Accounts: 1000, Documents: 3000, Events: 3000})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	var pipelines []process.Pipeline
	for i, v := range variants {
		p := newPipeline(t, "meta-"+v.name, url, func(p *process.Pipeline) {
			p.Source, p.Settings = v.source, v.settings
			p.Sink = map[string]string{"write.mode": v.mode}
			for k, value := range v.sink {
				p.Sink[k] = value
			}
		})
		pipelines = append(pipelines, p)
		run := start(t, p)
		running(p)
		if _, err := w.Run(t.Context(), changes*int64(i+1)); err != nil {
			t.Fatal(err)
		}
		stop(t, run)
	}
	// From here on every variant follows the log: the same changes for all.
	from := position()
	if _, err := w.Run(t.Context(), changes*int64(len(variants)+1)); err != nil {
		t.Fatal(err)
	}
	logs := map[string]string{} // digest of the changes from there, by append variant
	tables := w.Tables()
	keyed := slices.DeleteFunc(slices.Clone(tables), w.Keyless)
	for i, v := range variants {
		catchUp(t, pipelines[i])
		if v.mode == "upsert" {
			equal(t, pipelines[i], keyed...)
			equalChangelogs(t, pipelines[i], w.Table("events"))
			continue
		}
		equalChangelogs(t, pipelines[i], tables...)
		logs[v.name] = changesFrom(t, pipelines[i], w, from)
	}
	if logs["p1-append"] != logs["p4-append"] {
		t.Errorf("the changelogs differ: %v", logs)
	}
}

// equalChangelogs compares tables in append mode.
func equalChangelogs(t *testing.T, p process.Pipeline, tables ...string) {
	t.Helper()
	source, reader := sourceOf(t, p), openReader(t, p)
	for _, table := range tables {
		log, err := reader.CompareChangelog(t.Context(), source, table, table, readers.PyIceberg, 0)
		if err != nil {
			t.Error(err)
		} else if !log.OK() {
			t.Errorf("pipeline %s: %s", p.Name, log)
		}
	}
}

// changesFrom digests the changelogs of two tables behind a position.
func changesFrom(t *testing.T, p process.Pipeline, w *workload.Workload, from int64) string {
	t.Helper()
	const meta = "SELECT __op, __pos, __ordinal, __tx, __commit_time, "
	where := fmt.Sprintf(" WHERE __pos > %d", from)
	rows, err := openReader(t, p).SQL(meta+"id, version, title, body, checksum FROM {d}"+where+" UNION ALL "+
		meta+"id, version, owner, balance::text, updated_at::text FROM {a}"+where+" ORDER BY __pos, __ordinal",
		map[string]readers.Ref{"d": {Table: w.Table("documents")}, "a": {Table: w.Table("accounts")}})
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, row := range rows {
		for _, v := range row {
			if v == nil {
				fmt.Fprint(h, "N,")
			} else {
				fmt.Fprintf(h, "%d:%s,", len(*v), *v)
			}
		}
	}
	return fmt.Sprintf("%d rows, %x", len(rows), h.Sum(nil)[:8])
}
