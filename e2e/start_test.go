package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/e2e/workload"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// The bounds of the issue: from launch to the first committed rows of a small
// table, memory at rest, size of the stripped binary.
const (
	maxStart      = 2 * time.Second
	maxIdleBytes  = 60_000_000
	maxBinarySize = 110_000_000
)

// TestStart measures the start with the default checkpoint interval; the best of
// three, since the machine may be busy.
func TestStart(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		url := newDatabase(t)
		execute(t, connect(t, url), "CREATE TABLE small (id int PRIMARY KEY, v text); INSERT INTO small SELECT i, 'v' FROM generate_series(1, 100) i")
		measureStart(t, url, "public.small")
	})
	t.Run("mysql", func(t *testing.T) {
		servers.Require(t)
		db := mysqltest.Open(t, mysqltest.Named(t, "MySQL97"))
		db.Exec("CREATE TABLE small (id int PRIMARY KEY, v text)", "INSERT INTO small SELECT i, 'v' FROM "+workload.MySQLSeries(1, 100))
		measureStart(t, db.URL(), db.Database+".small")
	})
}

func measureStart(t *testing.T, url, table string) {
	t.Helper()
	var best time.Duration
	for i := range 3 {
		p := newPipeline(t, fmt.Sprintf("start%d", i), url, func(p *process.Pipeline) {
			p.Settings["execution.checkpointing.interval"] = "10s"
		})
		launched := time.Now()
		run := start(t, p)
		eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
		took := time.Since(launched)
		if best == 0 || took < best {
			best = took
		}
		t.Logf("first commit after %s", took)
		if i == 2 {
			time.Sleep(3 * time.Second) // rest
			rss := residentBytes(t, run.PID())
			t.Logf("idle with %d MiB", rss>>20)
			if rss > maxIdleBytes {
				t.Errorf("an idle pipeline takes %d bytes, above %d", rss, maxIdleBytes)
			}
		}
		stop(t, run)
		catchUp(t, p) // on a busy machine the first commit comes before the rows
		equal(t, p, table)
	}
	// How fast a machine is that runs many tests at once proves nothing.
	if best > maxStart && os.Getenv("E2E_TIER") == "full" {
		t.Errorf("from launch to the first committed rows it takes %s, above %s", best, maxStart)
	}
}

func TestBinarySize(t *testing.T) {
	if os.Getenv("FRESHET_E2E") == "" {
		t.Skip("builds the binary: bash e2e/run.sh, or set FRESHET_E2E=1")
	}
	info, err := os.Stat(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	if info.Size() > maxBinarySize {
		t.Errorf("the binary has %d bytes, above %d", info.Size(), maxBinarySize)
	}
}

// manifestLists counts the snapshots of all tables of a pipeline by the files that each has.
func manifestLists(p process.Pipeline) int {
	n := 0
	filepath.WalkDir(filepath.Join(p.Dir, "warehouse"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "snap-") && strings.HasSuffix(path, ".avro") {
			n++
		}
		return nil
	})
	return n
}

// residentBytes returns what a process holds of the machine's memory, with the
// pages of its binary.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
