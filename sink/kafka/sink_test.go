package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/producer"
	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

func insert(ids ...int) (out []row) {
	for _, id := range ids {
		out = append(out, row{op: schema.OpInsert, id: id, n: id})
	}
	return out
}

func wantTexts(t *testing.T, got []message, want ...string) {
	t.Helper()
	slices.Sort(want)
	if texts := texts(got); !slices.Equal(texts, want) {
		t.Fatalf("got %q\nwant %q", texts, want)
	}
}

// TestBarrier: a writer that has passed a barrier goes on only when the checkpoint is
// flushed, and what it writes then belongs to the next one.
func TestBarrier(t *testing.T) {
	versions(t, func(t *testing.T, k brokers) {
		def := table("t", "id")
		r := rig(t, open(t, k, nil), 2, def)
		in := func(n int) sink.Input {
			return sink.Input{Table: def.ID, Batch: batch(t, r.Mem, def, uint64(n), insert(n)...)}
		}
		ctx := t.Context()
		must(t, r.Writers[0].Write(ctx, in(1)))
		_, _, err := r.Writers[0].Prepare(ctx, 1)
		must(t, err)
		done := make(chan error, 1)
		go func() { done <- r.Writers[0].Write(ctx, in(2)) }()
		must(t, r.Writers[1].Write(ctx, in(3)))
		select {
		case err := <-done:
			t.Fatalf("a writer went on behind its barrier: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		_, _, err = r.Writers[1].Prepare(ctx, 1)
		must(t, err)
		_, err = r.Committer.Collect(ctx, 1, 10, nil)
		must(t, err)
		must(t, <-done)
		must(t, r.Committer.Commit(ctx, 1))
		c := consume(t, k, "s.t")
		wantTexts(t, c.read(2), "s.t c 1", "s.t c 3")
		_, err = r.Committer.Collect(ctx, 2, 20, nil)
		must(t, err)
		must(t, r.Committer.Commit(ctx, 2))
		wantTexts(t, c.read(3), "s.t c 1", "s.t c 2", "s.t c 3")
	})
}

// TestGivenUp: a checkpoint that is given up when some writers have passed its barrier stops
// nobody for good, and everything comes once, with the next checkpoint, even if the
// committer still collects the one that was given up.
func TestGivenUp(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late=", late), func(t *testing.T) {
			versions(t, func(t *testing.T, k brokers) {
				def := table("t", "id")
				s := open(t, k, nil)
				must(t, s.CheckTimes(time.Second, 30*time.Millisecond))
				r := rig(t, s, 2, def)
				put := func(w, n int) {
					must(t, r.Writers[w].Write(t.Context(), sink.Input{Table: def.ID, Batch: batch(t, r.Mem, def, uint64(n), insert(n)...)}))
				}
				put(0, 1)
				_, _, err := r.Writers[0].Prepare(t.Context(), 1) // the other one never does
				must(t, err)
				put(1, 2)
				put(0, 3)
				if late {
					_, err = r.Committer.Collect(t.Context(), 1, 10, nil)
					must(t, err)
				}
				put(0, 4)
				put(1, 5)
				for _, w := range r.Writers {
					_, _, err = w.Prepare(t.Context(), 2)
					must(t, err)
				}
				_, err = r.Committer.Collect(t.Context(), 2, 20, nil)
				must(t, err)
				c := consume(t, k, "s.t")
				wantTexts(t, c.read(0))
				must(t, r.Committer.Commit(t.Context(), 2))
				wantTexts(t, c.read(5), "s.t c 1", "s.t c 2", "s.t c 3", "s.t c 4", "s.t c 5")
			})
		})
	}
}

// TestWaiting: who waits at a barrier ends with the attempt, one way or the other.
func TestWaiting(t *testing.T) {
	k := cluster(t)
	def := table("t", "id")
	for name, end := range map[string]func(cancel func(), c sink.Committer){
		"cancelled": func(cancel func(), _ sink.Committer) { cancel() },
		"closed":    func(_ func(), c sink.Committer) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			r := rig(t, open(t, k, map[string]string{optPrefix: name}), 1, def)
			_, _, err := r.Writers[0].Prepare(t.Context(), 1)
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- r.Writers[0].Write(ctx, sink.Input{Table: def.ID, Batch: batch(t, r.Mem, def, 1, insert(1)...)})
			}()
			time.Sleep(10 * time.Millisecond)
			end(cancel, r.Committer)
			if err := <-done; !errors.Is(err, context.Canceled) && !errors.Is(err, errClosed) {
				t.Errorf("%v", err)
			}
			cancel()
		})
	}
}

// TestLost: a transaction that the broker has given up is an error that says so, from
// where the pipeline can go back a checkpoint and write the records again.
func TestLost(t *testing.T) {
	versions(t, func(t *testing.T, k brokers) {
		def := table("t", "id")
		r := rig(t, open(t, k, nil), 2, def)
		write(t, r, def, insert(1, 2)...)
		checkpoint(t, r)
		write(t, r, def, insert(3, 4)...)
		cp, err := r.Prepare(t.Context(), true, nil)
		must(t, err)
		r.Crash()
		for i := range 2 { // as the broker does behind the time-out
			id := "p"
			if k.name != "" {
				id = k.name
			}
			client, err := kgo.NewClient(kgo.SeedBrokers(k.addresses...), kgo.TransactionalID(fmt.Sprint(id, "-", i)))
			must(t, err)
			_, _, err = client.ProducerID(t.Context())
			must(t, err)
			client.Close()
		}
		var lost *txn.LostError
		if err := r.Start(t.Context(), 1); !errors.As(err, &lost) || lost.Committable.Checkpoint != cp.ID {
			t.Fatalf("%v", err)
		}
		r.Checkpoints = r.Checkpoints[:1]
		start(t, r, 1, def)
		write(t, r, def, insert(3, 4)...)
		checkpoint(t, r)
		wantTexts(t, consume(t, k, "s.t").read(4), "s.t c 1", "s.t c 2", "s.t c 3", "s.t c 4")
	})
}

// TestAhead: checkpoints that are not those of the target are permanent errors.
func TestAhead(t *testing.T) { each(t, testAhead) }

func testAhead(t *testing.T, k brokers) {
	def := table("t", "id")
	s := open(t, k, nil)
	r := rig(t, s, 1, def)
	for n := range 2 {
		write(t, r, def, insert(n)...)
		checkpoint(t, r)
	}
	r.Crash()
	r.Checkpoints = r.Checkpoints[:1]
	permanent := func(err error) bool {
		return slices.ContainsFunc(Permanent(), func(p error) bool { return errors.Is(err, p) })
	}
	if err := r.Start(t.Context(), 1); !errors.Is(err, txn.ErrAhead) || !permanent(err) {
		t.Errorf("%v", err)
	}
	r.Lineage = "another"
	if err := r.Start(t.Context(), 1); !errors.Is(err, txn.ErrForeign) || !permanent(err) {
		t.Errorf("%v", err)
	}
}

// TestGuarantees: without transactions messages are seen at once, and at least once they
// are all acknowledged at a checkpoint. Going over from transactions ends those that are prepared.
func TestGuarantees(t *testing.T) {
	for _, g := range []guarantee{atLeastOnce, noGuarantee} {
		t.Run(string(g), func(t *testing.T) { each(t, func(t *testing.T, k brokers) { testGuarantee(t, k, g) }) })
	}
}

func testGuarantee(t *testing.T, k brokers, g guarantee) {
	def := table("t", "id")
	r := rig(t, open(t, k, nil), 1, def)
	write(t, r, def, insert(1)...)
	_, err := r.Prepare(t.Context(), true, nil)
	must(t, err)
	r.Crash()
	r.Sink = open(t, k, map[string]string{optGuarantee: string(g)})
	start(t, r, 2, def)
	c := consume(t, k, "s.t")
	wantTexts(t, c.read(1), "s.t c 1")
	write(t, r, def, insert(2, 3)...)
	if g == atLeastOnce {
		_, err = r.Prepare(t.Context(), true, nil)
		must(t, err)
	}
	wantTexts(t, c.read(3), "s.t c 1", "s.t c 2", "s.t c 3")
}

// TestAcknowledged: at least once, a checkpoint waits for the broker.
func TestAcknowledged(t *testing.T) {
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	must(t, err)
	t.Cleanup(k.Close)
	up := make(chan struct{})
	k.ControlKey(0, func(kmsg.Request) (kmsg.Response, error, bool) {
		k.SleepControl(func() { <-up })
		return nil, nil, false
	})
	def := table("t", "id")
	r := rig(t, open(t, brokers{addresses: k.ListenAddrs()}, map[string]string{optGuarantee: string(atLeastOnce)}), 1, def)
	write(t, r, def, insert(1)...)
	done := make(chan error, 1)
	go func() {
		_, err := r.Prepare(t.Context(), true, nil)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("a checkpoint did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(up)
	must(t, <-done)
	wantTexts(t, consume(t, brokers{addresses: k.ListenAddrs()}, "s.t").read(1), "s.t c 1")
}

// TestBounded: while the broker takes nothing, writers wait and don't pile up records,
// and the end of the attempt frees them.
func TestBounded(t *testing.T) {
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	must(t, err)
	t.Cleanup(k.Close)
	k.ControlKey(0, func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		return nil, errors.New("cut"), true
	})
	def := table("t", "id")
	r := rig(t, open(t, brokers{addresses: k.ListenAddrs()}, map[string]string{optGuarantee: string(atLeastOnce), "properties.buffer.memory": "100000"}), 1, def)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	written := atomic.Int64{}
	done := make(chan error, 1)
	go func() {
		for {
			b := batch(t, r.Mem, def, 1, row{op: schema.OpInsert, id: 1, txt: strings.Repeat("x", 1000)})
			if err := r.Writers[0].Write(ctx, sink.Input{Table: def.ID, Batch: b}); err != nil {
				done <- err
				return
			}
			written.Add(1)
		}
	}()
	time.Sleep(200 * time.Millisecond)
	if n := written.Load(); n < 10 || n > 100 {
		t.Errorf("%d records of a kilobyte in a buffer of 100", n)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestTooLarge: a record that does not fit is an error of its checkpoint that says where.
func TestTooLarge(t *testing.T) {
	for _, g := range []guarantee{exactlyOnce, atLeastOnce, noGuarantee} {
		t.Run(string(g), func(t *testing.T) {
			each(t, func(t *testing.T, k brokers) {
				def := table("t", "id")
				r := rig(t, open(t, k, map[string]string{optGuarantee: string(g), "properties.max.request.size": "2000"}), 1, def)
				write(t, r, def, row{op: schema.OpInsert, id: 1, txt: strings.Repeat("x", 3000)})
				time.Sleep(20 * time.Millisecond) // none waits for nothing
				_, err := r.Prepare(t.Context(), false, nil)
				var bad *producer.RecordError
				if !errors.As(err, &bad) || bad.Topic != k.topic("s.t") || !errors.Is(err, kerr.MessageTooLarge) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// TestTruncate: the message of a truncate lies behind everything before it and before
// everything behind it, whichever writers have that; without being asked for, there is none.
func TestTruncate(t *testing.T) {
	for _, skipped := range []string{"none", "t"} {
		t.Run(skipped, func(t *testing.T) {
			each(t, func(t *testing.T, k brokers) {
				def := table("t", "id")
				r := rig(t, open(t, k, map[string]string{"debezium.skipped.operations": skipped, optPartitions: "1"}), 3, def)
				var want []string
				for round := range 4 {
					write(t, r, def, insert(1, 2, 3, 4, 5, 6, 7)...)
					must(t, r.Change(t.Context(), def.ID, &schema.Change{Kind: schema.ChangeTruncate, Table: def.ID, Before: def, After: def}))
					if want = append(want, "ccccccc"); skipped == "none" {
						want = append(want, "t")
					}
					if round == 1 {
						checkpoint(t, r)
					}
				}
				checkpoint(t, r)
				text := strings.Join(want, "")
				got := ""
				for _, m := range consume(t, k, "s.t").read(len(text)) {
					got += m.op
				}
				if got != text {
					t.Errorf("got %s, want %s", got, text)
				}
			})
		})
	}
}

// TestTruncateOrder: the writers come to a truncate at different times, and none goes on
// before the last one has come.
func TestTruncateOrder(t *testing.T) { each(t, testTruncateOrder) }

func testTruncateOrder(t *testing.T, k brokers) {
	def := table("t", "id")
	r := rig(t, open(t, k, map[string]string{"debezium.skipped.operations": "none", optPartitions: "1"}), 2, def)
	change := &schema.Change{Kind: schema.ChangeTruncate, Table: def.ID, Before: def, After: def}
	in := func(n int) sink.Input {
		return sink.Input{Table: def.ID, Batch: batch(t, r.Mem, def, uint64(n), insert(n)...)}
	}
	must(t, r.Writers[0].Write(t.Context(), sink.Input{Table: def.ID, Change: change}))
	done := make(chan error, 1)
	go func() { done <- r.Writers[0].Write(t.Context(), in(2)) }()
	time.Sleep(20 * time.Millisecond)
	must(t, r.Writers[1].Write(t.Context(), in(1)))
	must(t, r.Writers[1].Write(t.Context(), sink.Input{Table: def.ID, Change: change}))
	must(t, <-done)
	checkpoint(t, r)
	got := ""
	for _, m := range consume(t, k, "s.t").read(3) {
		got += fmt.Sprint(m.op, m.n, " ")
	}
	if got != "c1 t0 c2 " {
		t.Errorf("got %s", got)
	}
}

// TestMessages: keys, headers, tombstones and the topics of tables.
func TestMessages(t *testing.T) {
	k := cluster(t)
	def := table("t", "id")
	s := open(t, k, map[string]string{optTopicPrefix: "shop", "sink.add-tableId-to-header-enabled": "true", "sink.custom-header": "a:1;b:2",
		optMapping: `s.t\d+:special`, optConnector: "mariadb"})
	r := rig(t, s, 1, def)
	write(t, r, def, row{op: schema.OpInsert, id: 1, n: 1}, row{op: schema.OpDelete, id: 1, n: 2})
	other := table("t7", "id")
	write(t, r, other, insert(9)...)
	checkpoint(t, r)
	got := consume(t, k, "shop.s.t", "special").read(4)
	if len(got) != 4 {
		t.Fatalf("%d messages: %v", len(got), got)
	}
	for _, m := range got {
		if want := "a=1;b=2;namespace=;schemaName=s;tableName=" + map[string]string{"shop.s.t": "t", "special": "t7"}[m.topic] + ";"; m.headers != want {
			t.Errorf("%v: headers %s", m, m.headers)
		}
		if want := map[string]string{"shop.s.t": `{"id":1}`, "special": `{"id":9}`}[m.topic]; m.key != want {
			t.Errorf("%v: key %s, want %s", m, m.key, want)
		}
		if !m.tombstone && (!strings.Contains(m.value, `"connector":"mariadb","name":"shop"`) || !strings.Contains(m.value, `"db":"s"`)) {
			t.Error(m.value)
		}
	}
	d, err := s.Describe(def, def.ID)
	if err != nil || d.Target != "shop.s.t" || len(d.Columns) != 3 {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := s.Rows(t.Context(), def, def.ID, nil); !errors.Is(err, ErrRows) {
		t.Error(err)
	}
}

// TestPieces: a batch of many rows, of which some are meant, is handed over in pieces
// and stays in order.
func TestPieces(t *testing.T) { each(t, testPieces) }

func testPieces(t *testing.T, k brokers) {
	def := table("t", "id")
	r := rig(t, open(t, k, map[string]string{optPartitions: "1", "debezium-json.include-schema.enabled": "true"}), 1, def)
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	rows := make([]row, 3000)
	var selected []int32
	for i := range rows {
		if rows[i] = (row{op: schema.OpUpdate, id: i % 7, n: i}); i%3 > 0 {
			selected = append(selected, int32(i))
		}
	}
	must(t, r.Writers[0].Write(t.Context(), sink.Input{Table: def.ID, Batch: batch(t, mem, def, 5, rows...), Select: selected}))
	must(t, r.Writers[0].Write(t.Context(), sink.Input{Table: def.ID, Batch: batch(t, mem, def, 6, rows...)}))
	mem.AssertSize(t, 0)
	checkpoint(t, r)
	got := consume(t, k, "s.t").read(len(selected) + len(rows))
	if len(got) != len(selected)+len(rows) {
		t.Fatalf("%d messages", len(got))
	}
	for i, m := range got {
		want := i - len(selected)
		if i < len(selected) {
			want = int(selected[i])
		}
		if !strings.Contains(m.value, fmt.Sprintf(`"after":{"id":%d,"n":%d,`, want%7, want)) {
			t.Fatalf("message %d: %s", i, m.value)
		}
	}
	w := r.Writers[0].(*writer)
	if w.piece == 64 || cap(w.out.debezium.Data) > maxScratch {
		t.Errorf("pieces of %d rows, %d bytes kept", w.piece, cap(w.out.debezium.Data))
	}
}

// TestSource: without knowing whose messages they are, nothing is written.
func TestSource(t *testing.T) {
	k := cluster(t)
	def := table("t", "id")
	s, err := New(map[string]string{optServers: k.addresses[0]}, nil)
	must(t, err)
	r := rig(t, s, 1)
	err = r.Change(t.Context(), def.ID, &schema.Change{Kind: schema.ChangeCreateTable, Table: def.ID, After: def})
	if !errors.Is(err, ErrSource) || !errors.Is(err, ErrTable) {
		t.Errorf("%v", err)
	}
}
