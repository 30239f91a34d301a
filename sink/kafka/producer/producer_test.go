package producer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test on clusters of both versions of the protocol, and on the real broker
// that FRESHET_KAFKA_URL names (FRESHET_KAFKA_VERSION=1 for one with the older).
func each(t *testing.T, fn func(t *testing.T, c *cluster)) {
	for name, opts := range map[string][]kfake.Opt{"V1": {kfake.MaxVersions(kversion.V3_9_0())}, "V2": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(3)}, opts...)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(k.Close)
			c := newCluster(t, k.ListenAddrs())
			if c.fake = k; name == "V1" {
				c.version = txn.V1
			}
			fn(t, c)
		})
	}
	t.Run("real", func(t *testing.T) {
		address := os.Getenv("FRESHET_KAFKA_URL")
		if address == "" {
			t.Skip("no broker: FRESHET_KAFKA_URL is not set; bash e2e/run.sh starts one")
		}
		c := newCluster(t, strings.Split(address, ","))
		if os.Getenv("FRESHET_KAFKA_VERSION") == "1" {
			c.version = txn.V1
		}
		fn(t, c)
	})
}

// cluster is a cluster and the topics and ids that a test has there.
type cluster struct {
	t         *testing.T
	fake      *kfake.Cluster // nil for a real one
	addresses []string
	version   txn.Version
	name      string
	next      int
}

func newCluster(t *testing.T, addresses []string) *cluster {
	t.Helper()
	name := strings.NewReplacer("/", "-", "=", "-").Replace(t.Name()) + fmt.Sprintf("-%d-%d", os.Getpid(), time.Now().UnixNano())
	c := &cluster{t: t, addresses: addresses, version: txn.V2, name: name}
	k, err := kgo.NewClient(c.options()...)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if _, err := kadm.NewClient(k).CreateTopic(t.Context(), 4, -1, nil, c.name); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) options() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(c.addresses...), kgo.MetadataMinAge(100 * time.Millisecond)}
}

func (c *cluster) config() Config {
	return Config{Options: c.options(), Prefix: c.name, Lineage: "L", Markers: c.name + "-markers", Timeout: time.Minute}
}

func (c *cluster) open(cfg Config, r txn.Restore) *Producer {
	c.t.Helper()
	p, err := Open(c.t.Context(), cfg, r)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(p.abandon)
	return p
}

// write produces the next n records.
func (c *cluster) write(p *Producer, n int) {
	c.t.Helper()
	for range n {
		c.next++
		if err := p.Produce(c.t.Context(), c.record()); err != nil {
			c.t.Fatal(err)
		}
	}
}

// record is the record with the number next.
func (c *cluster) record() *kgo.Record {
	return &kgo.Record{Topic: c.name, Value: fmt.Append(nil, c.next)}
}

func (c *cluster) prepare(p *Producer, checkpoint int64) []txn.Committable {
	c.t.Helper()
	pending, err := p.Prepare(c.t.Context(), checkpoint, uint64(c.next))
	if err != nil {
		c.t.Fatal(err)
	}
	return pending
}

func (c *cluster) commit(p *Producer, checkpoint int64) {
	c.t.Helper()
	if err := p.Commit(c.t.Context(), checkpoint); err != nil {
		c.t.Fatal(err)
	}
}

// visible returns what a consumer of committed records sees now: what lies below the last
// stable offset of each partition.
func (c *cluster) visible() (out []int) {
	c.t.Helper()
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(1, 12) // fetches that name topics
	k, err := kgo.NewClient(append(c.options(), kgo.MaxVersions(versions))...)
	if err != nil {
		c.t.Fatal(err)
	}
	defer k.Close()
	admin := kadm.NewClient(k)
	ends, err := admin.ListCommittedOffsets(c.t.Context(), c.name)
	if err != nil || ends.Error() != nil {
		c.t.Fatal(err, ends.Error())
	}
	meta, err := admin.Metadata(c.t.Context(), c.name)
	if err != nil {
		c.t.Fatal(err)
	}
	for p, end := range ends[c.name] {
		broker := k.Broker(int(meta.Topics[c.name].Partitions[p].Leader))
		for at := int64(0); at < end.Offset; {
			records, next := c.fetch(broker, p, at)
			for _, r := range records {
				n := 0
				_, _ = fmt.Sscan(string(r.Value), &n)
				out = append(out, n)
			}
			at = next
		}
	}
	slices.Sort(out)
	return out
}

// fetch reads committed records of a partition from an offset on.
func (c *cluster) fetch(broker *kgo.Broker, partition int32, at int64) ([]*kgo.Record, int64) {
	c.t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel = 200, 1, 1<<20, 1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = partition, at, 1<<20, -1
	req.Topics = []kmsg.FetchRequestTopic{{Topic: c.name, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	resp, err := broker.Request(c.t.Context(), req)
	if err != nil {
		c.t.Fatal(err)
	}
	answer := resp.(*kmsg.FetchResponse)
	if answer.ErrorCode != 0 || len(answer.Topics) == 0 {
		c.t.Fatal(kerr.ErrorForCode(answer.ErrorCode))
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: at, IsolationLevel: kgo.ReadCommitted(), Topic: c.name, Partition: partition},
		&answer.Topics[0].Partitions[0], kgo.DefaultDecompressor(), nil)
	if got.Err != nil {
		c.t.Fatal(got.Err)
	}
	return got.Records, next
}

// want checks that 1 to n are visible once.
func (c *cluster) want(n int) {
	c.t.Helper()
	got := c.visible()
	if len(got) != n {
		c.t.Fatalf("%d records are visible, want %d", len(got), n)
	}
	for i, v := range got {
		if v != i+1 {
			c.t.Fatalf("record %d is %d", i+1, v)
		}
	}
}

// TestCheckpoints: what is prepared is not visible, what is committed is, and ids are
// used in turn.
func TestCheckpoints(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		committed := 0
		for checkpoint := int64(1); checkpoint <= 3; checkpoint++ {
			c.write(p, 20)
			pending := c.prepare(p, checkpoint)
			if len(pending) != 1 || pending[0].Version != c.version || pending[0].Checkpoint != checkpoint {
				t.Fatalf("checkpoint %d holds %v", checkpoint, pending)
			}
			c.want(committed)
			committed = c.next
			c.write(p, 5) // of the next checkpoint
			c.commit(p, checkpoint)
		}
		c.want(c.next - 5)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		c.want(c.next - 5)
	})
}

// TestRestart: a process that is gone behind Prepare, or behind Commit, is taken over;
// what it had begun is not seen.
func TestRestart(t *testing.T) {
	for _, committed := range []bool{false, true} {
		t.Run(fmt.Sprintf("committed=%v", committed), func(t *testing.T) {
			each(t, func(t *testing.T, c *cluster) {
				p := c.open(c.config(), txn.Restore{})
				c.write(p, 20)
				pending := c.prepare(p, 1)
				if committed {
					c.commit(p, 1)
				}
				c.write(p, 7) // lost with the process
				p.abandon()
				c.next -= 7
				for range 2 { // the second time there is nothing left to do
					q := c.open(c.config(), txn.Restore{Restored: true, Checkpoint: 1, Pending: pending})
					c.want(20)
					q.abandon()
				}
				q := c.open(c.config(), txn.Restore{Restored: true, Checkpoint: 1, Pending: pending})
				c.write(q, 10)
				c.prepare(q, 2)
				c.commit(q, 2)
				c.want(30)
			})
		})
	}
}

// TestUnknown: where the request to commit gets no answer, it is repeated by the stored
// numbers, whether the broker did it or not; and so at a restart.
func TestUnknown(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		cut := func() {
			if c.fake == nil {
				return
			}
			c.fake.ControlKey(keyEndTxn, func(kmsg.Request) (kmsg.Response, error, bool) { return nil, errors.New("cut"), true })
		}
		for checkpoint := int64(1); checkpoint <= 3; checkpoint++ {
			c.write(p, 10)
			c.prepare(p, checkpoint)
			c.write(p, 1)
			cut()
			c.commit(p, checkpoint)
		}
		c.want(c.next - 1)
		pending := c.prepare(p, 4)
		p.abandon()
		cut()
		c.open(c.config(), txn.Restore{Restored: true, Checkpoint: 4, Pending: pending})
		c.want(c.next)
	})
}

// TestConcurrent commits while the next records are written.
func TestConcurrent(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		done := make(chan error, 1)
		done <- nil
		for checkpoint := int64(1); checkpoint <= 20; checkpoint++ {
			c.write(p, 20)
			c.prepare(p, checkpoint)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			go func() { done <- p.Commit(t.Context(), checkpoint) }()
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		c.want(c.next)
	})
}

// TestEmpty: a checkpoint without records needs no transaction.
func TestEmpty(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		if pending := c.prepare(p, 1); len(pending) != 0 {
			t.Fatal(pending)
		}
		c.commit(p, 1)
		c.write(p, 3)
		c.prepare(p, 2)
		c.commit(p, 2)
		c.want(3)
	})
}

// TestSubsumed: a checkpoint that was not stored is committed with the next one.
func TestSubsumed(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		for checkpoint := range int64(4) {
			c.write(p, 5)
			if pending := c.prepare(p, checkpoint+1); len(pending) != int(checkpoint)+1 {
				t.Fatal(pending)
			}
		}
		c.want(0)
		c.commit(p, 4)
		c.want(20)
	})
}

// TestLost: a transaction that the broker has given up is an error that says so, and
// the checkpoint before goes on.
func TestLost(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		c.write(p, 5)
		first := c.prepare(p, 1)
		c.commit(p, 1)
		c.write(p, 5)
		second := c.prepare(p, 2)
		p.abandon()
		c.abort(second[0].ID)
		var lost *txn.LostError
		if _, err := Open(t.Context(), c.config(), txn.Restore{Restored: true, Checkpoint: 2, Pending: second}); !errors.As(err, &lost) || lost.Committable.Checkpoint != 2 {
			t.Fatalf("%v", err)
		}
		c.next -= 5
		q := c.open(c.config(), txn.Restore{Restored: true, Checkpoint: 1, Pending: first})
		c.write(q, 5)
		c.prepare(q, 2)
		c.commit(q, 2)
		c.want(10)
	})
}

// abort does to an id's open transaction what the broker does behind its time-out.
func (c *cluster) abort(id string) {
	c.t.Helper()
	k, err := kgo.NewClient(append(c.options(), kgo.TransactionalID(id))...)
	if err != nil {
		c.t.Fatal(err)
	}
	defer k.Close()
	if _, _, err := k.ProducerID(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// TestTwo: a second pipeline with the same prefix fences the first, which says so.
func TestTwo(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		c.write(p, 5)
		c.open(c.config(), txn.Restore{})
		_, err := p.Prepare(t.Context(), 1, 1)
		var fenced *txn.FencedError
		if !errors.As(err, &fenced) {
			t.Fatalf("%v", err)
		}
		c.want(0)
	})
}

// TestForeign: markers of other checkpoints are not written over.
func TestForeign(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		c.write(p, 5)
		c.prepare(p, 1)
		c.commit(p, 1)
		p.abandon()
		cfg := c.config()
		cfg.Lineage = "M"
		var foreign *txn.ForeignError
		if _, err := Open(t.Context(), cfg, txn.Restore{}); !errors.As(err, &foreign) {
			t.Errorf("%v", err)
		}
		var ahead *txn.AheadError
		if _, err := Open(t.Context(), c.config(), txn.Restore{}); !errors.As(err, &ahead) {
			t.Errorf("%v", err)
		}
	})
}

// TestPoints: each step of a checkpoint has its point at which tests end the process.
func TestPoints(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		var reached []string
		cfg := c.config()
		cfg.Reached = func(point string) {
			mu.Lock()
			defer mu.Unlock()
			reached = append(reached, point)
		}
		p := c.open(cfg, txn.Restore{})
		c.write(p, 1)
		c.prepare(p, 1)
		c.commit(p, 1)
		mu.Lock()
		defer mu.Unlock()
		reached = slices.Compact(reached) // several ids are initialised
		want := []string{"kafka-initialised", "kafka-flushed", "kafka-prepared", "kafka-commit", "kafka-end-sent", "kafka-ended", "kafka-committed"}
		if !slices.Equal(reached, want) {
			t.Errorf("reached %q, want %q", reached, want)
		}
	})
}
