package e2e

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
)

// TestFaultDatabaseRestart kills the database under a running pipeline, which
// goes on by itself when it is back.
func TestFaultDatabaseRestart(t *testing.T) {
	pg := newServer(t)
	_, change := orders(t, pg.URL)
	p := newPipeline(t, "fault-restart", pg.URL, nil)
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	change()
	if err := pg.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, pg.URL)
	execute(t, conn, "INSERT INTO orders VALUES (77777, 'after the restart')")
	since := time.Now()
	committed(t, p, "a commit after the restart", since)
	select {
	case <-run.Done():
		t.Fatalf("the process ended with the database:\n%s", run.Wait().Tail(40))
	default:
	}
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.orders")
}

// TestFaultLostSlot drops the slot of a stopped pipeline: what happened since is
// not in the log any more.
func TestFaultLostSlot(t *testing.T) {
	url := newDatabase(t)
	conn, change := orders(t, url)
	p := newPipeline(t, "fault-lost", url, nil)
	catchUp(t, p)
	execute(t, conn, "SELECT pg_drop_replication_slot('freshet_fault_lost')")
	change()
	fails(t, p, "slot", "freshet_fault_lost")
}

// TestFaultSlotAhead moves the slot on behind the pipeline's back: PostgreSQL
// would go on from there without a word.
func TestFaultSlotAhead(t *testing.T) {
	url := newDatabase(t)
	conn, change := orders(t, url)
	p := newPipeline(t, "fault-ahead", url, nil)
	catchUp(t, p)
	change()
	execute(t, conn, "SELECT pg_replication_slot_advance('freshet_fault_ahead', pg_current_wal_lsn())")
	fails(t, p, "slot", "ahead")
}

// TestFaultForeignSlot meets a slot of another database or plugin under its name.
func TestFaultForeignSlot(t *testing.T) {
	url := newDatabase(t)
	conn, _ := orders(t, url)
	execute(t, conn, "SELECT pg_create_logical_replication_slot('freshet_fault_plugin', 'test_decoding')")
	fails(t, newPipeline(t, "fault-plugin", url, nil), "freshet_fault_plugin", "test_decoding")
}

// TestFaultInvalidatedSlot lets the server drop the log that the slot needs.
func TestFaultInvalidatedSlot(t *testing.T) {
	pg := newServer(t, "max_slot_wal_keep_size=1MB", "max_wal_size=32MB")
	conn, change := orders(t, pg.URL)
	p := newPipeline(t, "fault-invalid", pg.URL, nil)
	catchUp(t, p)
	execute(t, conn, "CREATE TABLE IF NOT EXISTS filler (v text)")
	eventually(t, "the slot is lost", runTimeout, func() bool {
		execute(t, conn, "INSERT INTO filler SELECT repeat(md5(i::text), 20) FROM generate_series(1, 20000) i")
		execute(t, conn, "SELECT pg_switch_wal()")
		execute(t, conn, "CHECKPOINT")
		var status string
		if err := conn.QueryRow(t.Context(), "SELECT wal_status FROM pg_replication_slots").Scan(&status); err != nil {
			t.Fatal(err)
		}
		return status == "lost"
	})
	execute(t, conn, "DROP TABLE filler")
	change()
	fails(t, p, "slot", "freshet_fault_invalid")
}

// TestFaultNetworkCut cuts every connection to the database for a while, again
// and again, while rows change.
func TestFaultNetworkCut(t *testing.T) {
	base := newDatabase(t)
	_, change := orders(t, base)
	api, err := servers.StartToxiproxy(t.Context(), fmt.Sprintf("e2e-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Wipe() })
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := toxiproxy.NewClient(api.URL).CreateProxy("postgres", "127.0.0.1:0", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := newPipeline(t, "fault-network", base, func(p *process.Pipeline) {
		p.Source["port"] = proxy.Listen[strings.LastIndex(proxy.Listen, ":")+1:]
	})
	run := start(t, p)
	eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
	for range 3 {
		change()
		if err := proxy.Disable(); err != nil {
			t.Fatal(err)
		}
		change()
		time.Sleep(500 * time.Millisecond)
		if err := proxy.Enable(); err != nil {
			t.Fatal(err)
		}
		since := time.Now()
		change()
		committed(t, p, "a commit after the cut", since)
	}
	stop(t, run)
	catchUp(t, p)
	equal(t, p, "public.orders")
}

// TestFaultRowThatNoTypeHolds writes NaN into a column whose type in Iceberg has
// none: the pipeline stops at it with its place, and nothing behind it is lost
// once the option says what to do.
func TestFaultRowThatNoTypeHolds(t *testing.T) {
	url := newDatabase(t)
	conn := connect(t, url)
	execute(t, conn, "CREATE TABLE prices (id int PRIMARY KEY, price numeric(10, 2)); INSERT INTO prices VALUES (1, 1.50)")
	p := newPipeline(t, "fault-nan", url, nil)
	catchUp(t, p)
	execute(t, conn, "INSERT INTO prices VALUES (4711, 'NaN'), (4712, 2.50)")
	fails(t, p, "prices", "4711", "decimal.special-values")
	execute(t, conn, "UPDATE prices SET price = NULL WHERE id = 4711")
	p.Source["decimal.special-values"] = "null"
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	catchUp(t, p)
	equal(t, p, "public.prices")
}
