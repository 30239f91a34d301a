package mysql

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestLogEventsWhileWritten: the log is read while events of some size are being written
// at its end, half of one of which a reader may meet.
func TestLogEventsWhileWritten(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		if s.MariaDB {
			return // MariaDB's views are not looked for in this way
		}
		db := openDatabase(t, s)
		run(t, db, 1, "CREATE TABLE wide (id int PRIMARY KEY AUTO_INCREMENT, v longtext)")
		var writers sync.WaitGroup
		stop := make(chan struct{})
		for range 3 {
			writer := db.NewSession()
			writers.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := writer.Conn.Execute(fmt.Sprintf("INSERT INTO %s.wide (v) VALUES (REPEAT('x', %d))", db.Database, 10_000+n%7*50_000)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		defer writers.Wait()
		defer close(stop)
		src := db.newSource(t, nil, db.all)
		conn, err := src.cfg.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		reads, halves := 0, 0
		for until := time.Now().Add(3 * time.Second); time.Now().Before(until); reads++ {
			status, err := readStatus(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			_, err = logEvents(t.Context(), conn, binlog.Place{File: status.File, Offset: status.Pos})
			switch {
			case errors.Is(err, errHalfEvent):
				halves++
			case err != nil:
				t.Fatal(err)
			}
		}
		if halves == reads {
			t.Errorf("all of %d reads met half an event", reads)
		}
		t.Logf("%d of %d reads met half an event", halves, reads)
	})
}
