package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// orders makes a table with rows and returns a function that changes it.
func orders(t *testing.T, url string) (*pgx.Conn, func()) {
	t.Helper()
	conn := connect(t, url)
	execute(t, conn, "CREATE TABLE orders (id int PRIMARY KEY, v text); INSERT INTO orders SELECT i, 'first ' || i FROM generate_series(1, 1000) i")
	next := 1000
	return conn, func() {
		t.Helper()
		next += 100
		execute(t, conn, "INSERT INTO orders SELECT i, 'later' FROM generate_series($1::int - 99, $1::int) i", next)
		execute(t, conn, "UPDATE orders SET v = v || '.' WHERE id % 7 = 0")
		execute(t, conn, "DELETE FROM orders WHERE id = $1", next-1000)
	}
}

func checkpointDir(p process.Pipeline) string { return filepath.Join(p.Dir, "checkpoints") }

// copyDir copies a folder, as a user's backup would.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestFaultForeignCheckpoints points a pipeline at the checkpoints of another one.
func TestFaultForeignCheckpoints(t *testing.T) {
	url := newDatabase(t)
	orders(t, url)
	first := newPipeline(t, "fault-first", url, nil)
	catchUp(t, first)
	second := newPipeline(t, "fault-second", url, func(p *process.Pipeline) {
		p.Settings["execution.checkpointing.dir"] = "file://" + checkpointDir(first)
	})
	fails(t, second, "fault-first", "checkpoint")
}

// TestFaultWipedCheckpoints removes the checkpoints below tables that are there:
// starting anew would double or lose rows, so it must not start.
func TestFaultWipedCheckpoints(t *testing.T) {
	url := newDatabase(t)
	_, change := orders(t, url)
	p := newPipeline(t, "fault-wiped", url, nil)
	catchUp(t, p)
	if err := os.RemoveAll(checkpointDir(p)); err != nil {
		t.Fatal(err)
	}
	change()
	fails(t, p, "orders")
}

// TestFaultRolledBackCheckpoints puts an old copy of the checkpoints back: the
// tables and the slot are ahead of it.
func TestFaultRolledBackCheckpoints(t *testing.T) {
	url := newDatabase(t)
	_, change := orders(t, url)
	p := newPipeline(t, "fault-rolled", url, nil)
	catchUp(t, p)
	saved := filepath.Join(t.TempDir(), "saved")
	copyDir(t, checkpointDir(p), saved)
	for range 6 { // more than the checkpoints that are retained
		change()
		catchUp(t, p)
	}
	if err := os.RemoveAll(checkpointDir(p)); err != nil {
		t.Fatal(err)
	}
	copyDir(t, saved, checkpointDir(p))
	change()
	if r := tryCatchUp(t, p); r.Code == 0 {
		equal(t, p, "public.orders") // it may go back by itself, if it then is right
	} else if !strings.Contains(strings.ToLower(r.Output), "ahead") && !strings.Contains(r.Output, "slot") {
		t.Errorf("the error names neither the slot nor what is ahead:\n%s", r.Tail(20))
	}
}

// TestFaultTwoProcesses starts a second process on a running pipeline.
func TestFaultTwoProcesses(t *testing.T) {
	url := newDatabase(t)
	_, change := orders(t, url)
	p := newPipeline(t, "fault-two", url, nil)
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	fails(t, p, "another")
	change()
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.orders")
}

// TestFaultCorruptCheckpoint damages the newest checkpoint: the pipeline goes back
// to the one before it and says so.
func TestFaultCorruptCheckpoint(t *testing.T) {
	url := newDatabase(t)
	_, change := orders(t, url)
	p := newPipeline(t, "fault-corrupt", url, nil)
	for range 3 {
		catchUp(t, p)
		change()
	}
	damaged := newestMetadata(t, checkpointDir(p))
	data, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 2; i < len(data); i++ {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(damaged, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out := strings.ToLower(catchUp(t, p))
	if !strings.Contains(out, "corrupt") && !strings.Contains(out, "damaged") && !strings.Contains(out, "checksum") {
		t.Errorf("it does not say that %s is damaged:\n%s", filepath.Base(damaged), out)
	}
	equal(t, p, "public.orders")
}

// newestMetadata finds the metadata file of the newest checkpoint: the store
// calls it metadata or ends its name so.
func newestMetadata(t *testing.T, dir string) string {
	t.Helper()
	type file struct {
		path string
		at   time.Time
	}
	var files []file
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(filepath.ToSlash(path[len(dir):]), "metadata") {
			info, err := d.Info()
			if err != nil {
				return err
			}
			files = append(files, file{path, info.ModTime()})
		}
		return nil
	})
	if len(files) == 0 {
		t.Fatalf("no metadata file below %s", dir)
	}
	return slices.MaxFunc(files, func(a, b file) int { return a.at.Compare(b.at) }).path
}

// TestFaultDiskFull fills the disk that holds state and tables. The pipeline stops
// or waits with an error that says so, and goes on when there is room.
func TestFaultDiskFull(t *testing.T) {
	url := newDatabase(t)
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system takes root")
	}
	conn, change := orders(t, url)
	dir := t.TempDir()
	mount := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
			t.Fatalf("mount: %v: %s", err, out)
		}
	}
	mount("-t", "tmpfs", "-o", "size=24m", "tmpfs")
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	p := newPipeline(t, "fault-disk", url, func(p *process.Pipeline) { p.Dir = filepath.Join(dir, "lake") })
	catchUp(t, p)
	execute(t, conn, `INSERT INTO orders SELECT i, (SELECT string_agg(md5(k::text || random()), '') FROM generate_series(i, i + 29) k)
		FROM generate_series(100001, 160000) i`)
	run := start(t, p)
	eventually(t, "an error about the full disk", runTimeout, func() bool {
		return strings.Contains(strings.ToLower(run.Output()), "no space left")
	})
	run.Kill()
	run.Wait()
	mount("-o", "remount,size=500m")
	change()
	catchUp(t, p)
	equal(t, p, "public.orders")
}

// TestFaultCatalogBusy lets another process hold the catalog for a while.
func TestFaultCatalogBusy(t *testing.T) {
	url := newDatabase(t)
	_, change := orders(t, url)
	p := newPipeline(t, "fault-catalog", url, nil)
	catchUp(t, p)
	python, err := servers.ReadersPython(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command(python, "-c", `import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(8)`, filepath.Join(p.Dir, "catalog.db"))
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	change()
	catchUp(t, p)
	equal(t, p, "public.orders")
}
