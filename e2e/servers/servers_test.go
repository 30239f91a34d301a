package servers

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestPostgres kills and restarts each version: the data and the address stay.
func TestPostgres(t *testing.T) {
	Require(t)
	for _, version := range []string{"14", "15", "16", "17", "18"} {
		t.Run(version, func(t *testing.T) {
			ctx := t.Context()
			pg, err := StartPostgres(ctx, version, "servers-test", "work_mem=5MB")
			if err != nil {
				t.Fatal(err)
			}
			defer pg.Wipe()
			query := func(sql string) (answer string) {
				t.Helper()
				conn, err := pgx.Connect(ctx, pg.URL)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(ctx)
				if err := conn.QueryRow(ctx, sql).Scan(&answer); err != nil {
					t.Fatal(err)
				}
				return answer
			}
			query("WITH t AS (SELECT lo_from_bytea(0, 'kept')) SELECT 'x' FROM t")
			if err := pg.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := pg.PID(ctx); err == nil {
				t.Error("it runs after Kill")
			}
			if err := pg.Start(ctx); err != nil {
				t.Fatal(err)
			}
			if got := query("SELECT convert_from(lo_get(oid), 'UTF8') FROM pg_largeobject_metadata"); got != "kept" {
				t.Errorf("after the restart it holds %q", got)
			}
			if got := query("SHOW work_mem") + query("SHOW wal_level"); got != "5MBlogical" {
				t.Errorf("settings after the restart: %s", got)
			}
			if got := query("SELECT current_setting('server_version_num')")[:2]; got != version {
				t.Errorf("version %s", got)
			}
			if err := pg.Stop(ctx); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestKafka kills and restarts one of two brokers: its records, its settings and its
// address stay, and the other has none of them. What one of Kafka's own tools prints is
// what was written.
func TestKafka(t *testing.T) {
	Require(t)
	ctx := t.Context()
	programs, err := KafkaPrograms(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var brokers [2]*Server
	for i := range brokers {
		if brokers[i], err = StartKafka(ctx, fmt.Sprint("servers-", i), "num.partitions=2"); err != nil {
			t.Fatal(err)
		}
		defer brokers[i].Wipe()
	}
	topics := func(k *Server) kadm.TopicDetails {
		t.Helper()
		client, err := kgo.NewClient(kgo.SeedBrokers(k.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		admin := kadm.NewClient(client)
		if k == brokers[0] {
			if _, err := admin.CreateTopic(ctx, -1, -1, nil, "mine"); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
				t.Fatal(err)
			}
		}
		found, err := admin.ListTopics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	k := brokers[0]
	topics(k)
	client, err := kgo.NewClient(kgo.SeedBrokers(k.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "mine", Value: []byte("kept")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := k.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := k.PID(ctx); err == nil {
		t.Error("it runs after Kill")
	}
	if err := k.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(topics(k)["mine"].Partitions); n != 2 {
		t.Errorf("the topic has %d partitions", n)
	}
	if other := topics(brokers[1]); len(other) != 0 {
		t.Errorf("the other broker has %v", other.Names())
	}
	out, err := exec.CommandContext(ctx, filepath.Join(programs, "kafka-console-consumer"), "--bootstrap-server", k.URL, "--topic", "mine",
		"--from-beginning", "--max-messages", "1").Output()
	if lines := strings.Fields(string(out)); err != nil || len(lines) == 0 || lines[len(lines)-1] != "kept" {
		t.Errorf("the console consumer prints %q, %v", out, err)
	}
	if err := k.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}
