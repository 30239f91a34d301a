package producer

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// TestProducers: several goroutines begin a transaction at once, and there is one.
func TestProducers(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		for checkpoint := int64(1); checkpoint <= 3; checkpoint++ {
			var g sync.WaitGroup
			for range 4 {
				var records []*kgo.Record
				for range 10 {
					c.next++
					records = append(records, c.record())
				}
				g.Go(func() {
					for _, r := range records {
						if err := p.Produce(t.Context(), r); err != nil {
							t.Error(err)
						}
					}
				})
			}
			g.Wait()
			if pending := c.prepare(p, checkpoint); len(pending) != 1 {
				t.Fatal(pending)
			}
			c.commit(p, checkpoint)
		}
		c.want(120)
	})
}

// TestRecordError: a record that can't be written is an error of the checkpoint that says
// which one, and nothing of the checkpoint is seen.
func TestRecordError(t *testing.T) {
	each(t, func(t *testing.T, c *cluster) {
		p := c.open(c.config(), txn.Restore{})
		c.write(p, 5)
		if err := p.Produce(t.Context(), &kgo.Record{Topic: c.name, Value: make([]byte, 2<<20)}); err != nil {
			t.Fatal(err)
		}
		_, err := p.Prepare(t.Context(), 1, 1)
		var bad *RecordError
		if !errors.As(err, &bad) || bad.Topic != c.name || bad.Bytes != 2<<20 || !errors.Is(err, kerr.MessageTooLarge) || !strings.Contains(err.Error(), "max.request.size") {
			t.Fatalf("%v", err)
		}
		c.want(0)
	})
}
