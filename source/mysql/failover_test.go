package mysql

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// replicaOf starts a server that replicates all of another.
func replicaOf(t *testing.T, s *mysqltest.Server, settings ...string) *mysqltest.PrivateServer {
	t.Helper()
	r := mysqltest.Private(t, s.Name, append([]string{"server-id=2"}, settings...)...)
	admin := r.Connect(t)
	if s.MariaDB {
		admin.Exec("SET GLOBAL gtid_slave_pos = ''", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_USE_GTID=slave_pos", s.Port, s.User, s.Password), "START SLAVE")
	} else {
		admin.Exec(fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, SOURCE_USER='%s', SOURCE_PASSWORD='%s', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1", s.Port, s.User, s.Password), "START REPLICA")
	}
	return r
}

// TestFailover: the pipeline goes on by GTID at a replica that has everything, or
// gets it soon, and the replica's own files say where.
func TestFailover(t *testing.T) {
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := mysqltest.Private(t, name)
			db := primary.Connect(t)
			db.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT)", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
			standby := replicaOf(t, primary.Server)
			from := sourceOf(t, primary.Server, "shop")
			to := sourceOf(t, standby.Server, "shop")
			stop, start := "STOP REPLICA", "START REPLICA"
			if primary.MariaDB {
				stop, start = "STOP SLAVE", "START SLAVE"
			}
			for i := range 2 {
				db.Exec("INSERT INTO shop.t VALUES (NULL)")
				if i == 1 { // it is behind, for a moment
					admin := standby.Connect(t)
					admin.Exec(stop)
					db.Exec("INSERT INTO shop.t VALUES (NULL)")
					time.AfterFunc(500*time.Millisecond, func() { admin.Exec(start) })
				}
				saved, err := startOf(t, from.cfg)
				if err != nil {
					t.Fatal(err)
				}
				conn, srv := open(t, to.cfg)
				got, err := to.cfg.resumePlace(t.Context(), conn, srv, saved, 0)
				if err != nil {
					t.Fatal(err)
				}
				if !got.Moved || !got.ByGTID || got.Server == saved.Server || got.Place.File == saved.Place.File || !got.GTIDs.Equal(saved.GTIDs) {
					t.Errorf("from %+v\nto %+v", saved, got)
				}
			}
			if problems := to.Check(t.Context()); len(problems) > 0 {
				t.Errorf("a replica as source: %v", problems)
			}
			// What the standby alone has executed is no hindrance the other way round,
			// but what it captured is: the old primary lacks it.
			standby.Connect(t).Exec("INSERT INTO shop.t VALUES (1000)")
			saved, err := startOf(t, to.cfg)
			if err != nil {
				t.Fatal(err)
			}
			conn, srv := open(t, from.cfg)
			if ok, err := waitExecuted(t.Context(), conn, srv.executedVariable(), saved.GTIDs, 0); ok || err != nil {
				t.Errorf("the old primary has what it lacks: %v %v", ok, err)
			}
		})
	}
}

func TestCheckReplicaWithoutItsUpdates(t *testing.T) {
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := mysqltest.Private(t, name)
			primary.Connect(t).Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
			replica := replicaOf(t, primary.Server, "log-slave-updates=OFF")
			src := sourceOf(t, replica.Server, "shop")
			for deadline := time.Now().Add(20 * time.Second); ; {
				problems := src.Check(t.Context())
				if len(problems) == 1 && errors.Is(problems[0], ErrServerUnsuitable) && strings.Contains(problems[0].Error(), "is a replica and log_") {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("%v", problems)
				}
				time.Sleep(200 * time.Millisecond) // until the table is replicated
			}
		})
	}
}
