package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/e2e/process"
	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/e2e/workload"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// broker returns the address of the broker that tests share.
func broker(t *testing.T) string {
	t.Helper()
	servers.Require(t)
	address := os.Getenv("FRESHET_KAFKA_URL")
	if address == "" {
		t.Skip("no broker: FRESHET_KAFKA_URL is not set; bash e2e/run.sh starts one")
	}
	return address
}

// TestKafka copies the workload into topics and kills the pipeline between flush and
// checkpoint, and between checkpoint and commit. Kafka's own consumer then sees each
// change once.
func TestKafka(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		testKafka(t, newDatabase(t), workload.Config{})
	})
	t.Run("mysql", func(t *testing.T) {
		servers.Require(t)
		testKafka(t, mysqltest.Open(t, mysqltest.Named(t, "MySQL97")).URL(), workload.Config{XA: true})
	})
}

func testKafka(t *testing.T, url string, config workload.Config) {
	address := broker(t)
	config.Seed, config.Accounts, config.Documents, config.Events = 3, 200, 300, 50
	w, err := workload.New(url, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s-%d", strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), time.Now().UnixNano())
	// Not the table without a key: its snapshot begins anew when it is cut off.
	tables := []string{w.Table("accounts"), w.Table("ledger"), w.Table("documents")}
	p := newPipeline(t, name, url, func(p *process.Pipeline) {
		p.Kafka, p.Tables = address, strings.Join(tables, ", ")
		p.Settings["parallelism"] = "2"
	})
	changes := int64(0)
	for _, point := range []string{"kafka-prepared:3", "kafka-commit:3"} {
		run := start(t, p, "FRESHET_CRASH_AT="+point)
		deadline := time.After(runTimeout)
		for ended := false; !ended; { // it needs something to commit
			changes += 200
			if _, err := w.Run(t.Context(), changes); err != nil {
				t.Fatal(err)
			}
			select {
			case <-run.Done():
				ended = true
			case <-deadline:
				t.Fatalf("%s was not reached within %s:\n%s", point, runTimeout, run.Output())
			case <-time.After(50 * time.Millisecond):
			}
		}
		if r := run.Wait(); r.Code >= 0 {
			t.Fatalf("it ended with exit code %d before %s:\n%s", r.Code, point, r.Tail(40))
		}
	}
	catchUp(t, p)
	source := sourceOf(t, p)
	for _, table := range tables {
		m, err := readers.CompareMessages(t.Context(), source, table, address, p.Topic(table), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if t.Log(m); !m.OK() {
			t.Errorf("%s", m)
		}
	}
}
