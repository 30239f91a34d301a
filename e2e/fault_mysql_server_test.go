package e2e

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestFaultMySQLRestart kills the server under a running pipeline, which goes on by
// itself when it is back.
func TestFaultMySQLRestart(t *testing.T) {
	ownMySQL(t, nil, func(t *testing.T, own *mysqltest.PrivateServer, db *mysqltest.DB) {
		change := mysqlOrders(t, db)
		p := newPipeline(t, "fault-restart", db.URL(), nil)
		run := start(t, p)
		eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
		for _, end := range []func(){own.Kill, own.Stop} {
			change()
			end()
			time.Sleep(time.Second)
			own.Start()
			since := time.Now()
			change()
			committed(t, p, "a commit after the restart", since)
		}
		stop(t, run)
		catchUp(t, p)
		equal(t, p, db.Database+".orders")
	})
}

// mysqlProxy puts a proxy before a server, which pipelines find at the port.
func mysqlProxy(t *testing.T, address string) *toxiproxy.Proxy {
	t.Helper()
	api, err := servers.StartToxiproxy(t.Context(), fmt.Sprintf("e2e-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Wipe() })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := toxiproxy.NewClient(api.URL).CreateProxy("mysql", "127.0.0.1:0", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return proxy
}

func proxyPort(proxy *toxiproxy.Proxy) string {
	return proxy.Listen[strings.LastIndex(proxy.Listen, ":")+1:]
}

// TestFaultMySQLNetworkCut cuts every connection for a while, and ends some in the
// middle of an event, while rows change.
func TestFaultMySQLNetworkCut(t *testing.T) {
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		change := mysqlOrders(t, db)
		proxy := mysqlProxy(t, db.URL())
		p := newPipeline(t, "fault-network", db.URL(), func(p *process.Pipeline) { p.Source["port"] = proxyPort(proxy) })
		run := start(t, p)
		eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
		for i := range 3 {
			toxic, err := proxy.AddToxic("cut", "limit_data", "downstream", 1, toxiproxy.Attributes{"bytes": 1500 + 777*i})
			if err != nil {
				t.Fatal(err)
			}
			change()
			time.Sleep(300 * time.Millisecond)
			if err := proxy.Disable(); err != nil {
				t.Fatal(err)
			}
			change()
			time.Sleep(500 * time.Millisecond)
			if err := proxy.RemoveToxic(toxic.Name); err != nil {
				t.Fatal(err)
			}
			if err := proxy.Enable(); err != nil {
				t.Fatal(err)
			}
			since := time.Now()
			change()
			committed(t, p, "a commit after the cut", since)
		}
		stop(t, run)
		catchUp(t, p)
		equal(t, p, db.Database+".orders")
	})
}

// silentProxy forwards connections until it is told to keep those that are there
// open without a word, as a firewall does that forgot them. New ones go through.
type silentProxy struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	silent   chan struct{} // closed for the connections so far
}

func newSilentProxy(t *testing.T, target string) *silentProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &silentProxy{listener: listener, target: target, silent: make(chan struct{})}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			silent := p.silent
			p.mu.Unlock()
			go forward(server, client, silent)
			go forward(client, server, silent)
		}
	}()
	return p
}

// forward copies until an end closes, or for ever nothing more once silent is closed.
func forward(to, from net.Conn, silent chan struct{}) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-silent:
			return // both stay open
		default:
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

func (p *silentProxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.silent)
	p.silent = make(chan struct{})
}

// TestFaultMySQLSilence lets a connection fall silent without an end: the pipeline
// misses the heartbeats and connects again.
func TestFaultMySQLSilence(t *testing.T) {
	eachMySQL(t, func(t *testing.T, db *mysqltest.DB) {
		change := mysqlOrders(t, db)
		proxy := newSilentProxy(t, db.Addr())
		p := newPipeline(t, "fault-silence", db.URL(), func(p *process.Pipeline) {
			p.Source["port"] = fmt.Sprint(proxy.listener.Addr().(*net.TCPAddr).Port)
			p.Source["heartbeat.interval"] = "1s"
		})
		run := start(t, p)
		eventually(t, "first commit", runTimeout, func() bool { return manifestLists(p) > 0 })
		time.Sleep(time.Second)
		since := time.Now()
		proxy.silence()
		change()
		committed(t, p, "a commit after the silence", since)
		stop(t, run)
		catchUp(t, p)
		equal(t, p, db.Database+".orders")
	})
}

// replicaOf starts a replica of a server, with files of its own numbering.
func replicaOf(t *testing.T, source *mysqltest.PrivateServer) *mysqltest.PrivateServer {
	t.Helper()
	replica := mysqltest.Private(t, source.Name, "server-id=2")
	s := replica.Connect(t)
	login := fmt.Sprintf("%%[1]s_HOST = '%s', %%[1]s_PORT = %d, %%[1]s_USER = '%s', %%[1]s_PASSWORD = '%s'", source.Host, source.Port, source.User, source.Password)
	switch source.Name {
	case "MySQL97":
		s.Exec("FLUSH BINARY LOGS", "FLUSH BINARY LOGS",
			fmt.Sprintf("CHANGE REPLICATION SOURCE TO "+login+", SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1", "SOURCE"), "START REPLICA")
	case "MySQL80":
		s.Exec("FLUSH BINARY LOGS", fmt.Sprintf("CHANGE MASTER TO "+login+", MASTER_AUTO_POSITION = 1, GET_MASTER_PUBLIC_KEY = 1", "MASTER"), "START SLAVE")
	default:
		s.Exec("FLUSH BINARY LOGS", fmt.Sprintf("CHANGE MASTER TO "+login+", MASTER_USE_GTID = slave_pos, MASTER_SSL_VERIFY_SERVER_CERT = 0", "MASTER"), "START SLAVE")
	}
	return replica
}

// caughtUp waits until a replica has what its source has.
func caughtUp(t *testing.T, source, replica *mysqltest.PrivateServer, table string) {
	t.Helper()
	sum := "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT(id, v))), 0)) FROM " + table
	want, s := source.Connect(t).Value(sum), replica.Connect(t)
	eventually(t, "the replica has caught up", runTimeout, func() bool {
		found := s.Value("SELECT COUNT(*) FROM information_schema.tables WHERE CONCAT(table_schema, '.', table_name) = '" + table + "'")
		return found == "1" && s.Value(sum) == want
	})
}

// promote makes a replica a server of its own.
func promote(t *testing.T, replica *mysqltest.PrivateServer) {
	t.Helper()
	if replica.Name == "MySQL97" {
		replica.Connect(t).Exec("STOP REPLICA", "RESET REPLICA ALL")
	} else {
		replica.Connect(t).Exec("STOP SLAVE", "RESET SLAVE ALL")
	}
}

// TestFaultMySQLFailover kills the server for good and goes on with its replica,
// whose binlog files have other names and places: running, with the network name
// pointing to the replica from then on, and stopped, with another address.
func TestFaultMySQLFailover(t *testing.T) {
	ownMySQL(t, nil, func(t *testing.T, source *mysqltest.PrivateServer, db *mysqltest.DB) {
		change := mysqlOrders(t, db)
		table := db.Database + ".orders"
		replica := replicaOf(t, source)
		proxy := mysqlProxy(t, source.URL)
		running := newPipeline(t, "failover-running", db.URL(), func(p *process.Pipeline) {
			p.Source["port"] = proxyPort(proxy)
			p.Sink["write.mode"] = "append"
		})
		stopped := newPipeline(t, "failover-stopped", db.URL(), nil)
		behind := newPipeline(t, "failover-replica", replica.URL+db.Database, nil) // captures from the replica all along
		caughtUp(t, source, replica, table)
		run := start(t, running)
		eventually(t, "first commit", runTimeout, func() bool { return manifestLists(running) > 0 })
		change()
		catchUp(t, stopped)
		catchUp(t, behind)
		change()
		caughtUp(t, source, replica, table)
		source.Kill()
		promote(t, replica)
		if err := proxy.Disable(); err != nil {
			t.Fatal(err)
		}
		proxy.Upstream = replica.Addr()
		proxy.Enabled = true
		if err := proxy.Save(); err != nil {
			t.Fatal(err)
		}
		since := time.Now()
		now := replica.Connect(t)
		now.Exec("USE "+db.Database, "INSERT INTO orders VALUES (900001, 'on the replica')", "UPDATE orders SET v = 'on the replica' WHERE id < 1100", "DELETE FROM orders WHERE id = 1050")
		committed(t, running, "a commit after the failover", since)
		stop(t, run)
		for _, p := range []process.Pipeline{stopped, behind, running} {
			p.SourceURL = replica.URL + db.Database
			if err := p.Write(); err != nil {
				t.Fatal(err)
			}
			catchUp(t, p)
			now.Exec("UPDATE orders SET v = CONCAT(v, '!') WHERE id % 100 = 0") // and once more from the checkpoint
			catchUp(t, p)
			if p.Sink["write.mode"] == "append" {
				equalChangelogs(t, p, table)
			} else {
				equal(t, p, table)
			}
		}
	})
}

// TestFaultMySQLLostTransactions fails over to a replica that never got the last
// transactions: they were captured, the new server does not know of them.
func TestFaultMySQLLostTransactions(t *testing.T) {
	ownMySQL(t, nil, func(t *testing.T, source *mysqltest.PrivateServer, db *mysqltest.DB) {
		change := mysqlOrders(t, db)
		replica := replicaOf(t, source)
		caughtUp(t, source, replica, db.Database+".orders")
		p := newPipeline(t, "fault-lost", db.URL(), nil)
		catchUp(t, p)
		promote(t, replica)
		change()
		catchUp(t, p)
		replica.Connect(t).Exec("INSERT INTO " + db.Database + ".orders VALUES (900001, 'another history')")
		p.SourceURL = replica.URL + db.Database
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		// It may get them yet, so the pipeline waits, and says for what.
		run := start(t, p)
		eventually(t, "it says what is missing", runTimeout, func() bool { return strings.Contains(run.Output(), "lacks transactions") })
		run.Kill()
		run.Wait()
		p.SourceURL = db.URL()
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		catchUp(t, p)
		equal(t, p, db.Database+".orders")
	})
}
