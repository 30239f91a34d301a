package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// deadline is how long a test waits for what must come.
const deadline = 60 * time.Second

// checkpoint is what a barrier left behind.
type checkpoint struct {
	position uint64
	state    []byte
	rows     int // those before it
}

// run is one execution of a reader, and its output.
type run struct {
	t       testing.TB
	reader  source.Reader
	cancel  context.CancelFunc
	done    chan struct{}
	final   []byte
	err     error
	trigger chan int64

	mu          sync.Mutex
	moved       chan struct{}
	rows        []string
	checkpoints map[int64]checkpoint
}

// start runs a reader; state is that of a checkpoint, nil for none.
func start(t testing.TB, src *Source, state []byte) *run {
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{t: t, reader: src.NewReader(), cancel: cancel, done: make(chan struct{}), trigger: make(chan int64), moved: make(chan struct{}), checkpoints: map[int64]checkpoint{}}
	go func() {
		defer close(r.done)
		r.final, r.err = r.reader.Run(ctx, source.Context{Restored: state != nil, RestoredID: 1, State: state, Needs: source.Needs{KeylessUpdates: true, ResolvesUnchanged: true}}, r)
	}()
	t.Cleanup(r.stop)
	return r
}

// stop ends the reader as a crash would.
func (r *run) stop() {
	r.cancel()
	<-r.done
}

func (r *run) Emit(_ context.Context, e source.Element) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := e.Change; c != nil {
		if c.Kind != schema.ChangeCreateTable {
			r.rows = append(r.rows, c.Kind.String())
		}
	} else {
		for i := range e.Batch.Rows() {
			line := fmt.Sprintf("%c %s", e.Batch.Op(i), e.Batch.Table.ID)
			for c := range e.Batch.Table.Columns {
				line += " " + e.Batch.Record.Column(c).ValueStr(i)
			}
			r.rows = append(r.rows, line)
		}
		e.Batch.Release()
	}
	close(r.moved)
	r.moved = make(chan struct{})
	return nil
}

func (r *run) Triggers() <-chan int64 { return r.trigger }

func (r *run) Barrier(_ context.Context, id int64, position uint64, state []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checkpoints[id] = checkpoint{position, slices.Clone(state), len(r.rows)}
	close(r.moved)
	r.moved = make(chan struct{})
	return nil
}

// until waits until ready says so, or the reader ends.
func (r *run) until(what string, ready func() bool) {
	r.t.Helper()
	limit := time.After(deadline)
	for {
		r.mu.Lock()
		ok, moved := ready(), r.moved
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-moved:
		case <-r.done:
			r.t.Fatalf("waiting for %s: the reader has ended: %v", what, r.err)
		case <-limit:
			r.t.Fatalf("waiting for %s: it does not come; rows %q", what, r.rows)
		}
	}
}

// wait waits for rows, which come in any order, and for no others.
func (r *run) wait(want ...string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d rows", len(want)), func() bool { return len(r.rows) >= len(want) })
	got := slices.Clone(r.rows)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Fatalf("got  %q\nwant %q", got, want)
	}
}

// checkpoint takes a checkpoint.
func (r *run) checkpoint(id int64) checkpoint {
	r.t.Helper()
	select {
	case r.trigger <- id:
	case <-r.done:
		r.t.Fatalf("the reader has ended: %v", r.err)
	case <-time.After(deadline):
		r.t.Fatal("nobody takes the trigger")
	}
	r.until("the checkpoint", func() bool { return r.checkpoints[id].state != nil })
	return r.checkpoints[id]
}

// ended waits for the end of the reader.
func (r *run) ended() error {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(deadline):
		r.t.Fatal("the reader does not end")
	}
	return r.err
}

// rig is topics of plain JSON rows with a number n, without keys.
type rig struct {
	t         testing.TB
	addresses []string
	producer  *kgo.Client
	admin     *kadm.Client
	prefix    string
}

func newRig(t testing.TB) *rig {
	addresses := brokers(t)
	cl := client(t, addresses, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	return &rig{t: t, addresses: addresses, producer: cl, admin: kadm.NewClient(cl), prefix: strings.ReplaceAll(t.Name(), "/", "_") + "-"}
}

func (g *rig) topic(name string, partitions int32) string {
	createTopic(g.t, g.addresses, g.prefix+name, partitions)
	return g.prefix + name
}

// put writes rows with these numbers.
func (g *rig) put(topic string, partition int32, numbers ...int) {
	g.t.Helper()
	var records []*kgo.Record
	for _, n := range numbers {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, `{"n":%d}`, n), Timestamp: time.UnixMilli(int64(1000 * n))})
	}
	if err := g.producer.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) source(topics string, more ...string) *Source {
	opts := map[string]string{optServers: strings.Join(g.addresses, ","), optTopic: topics, optFormat: "json"}
	if topics == "" {
		delete(opts, optTopic)
	}
	for i := 0; i < len(more); i += 2 {
		opts[more[i]] = more[i+1]
	}
	return open(g.t, opts)
}

// lines are the rows that numbers make.
func lines(topic string, numbers ...int) (out []string) {
	for _, n := range numbers {
		out = append(out, fmt.Sprintf("c %s %d", topic, n))
	}
	return out
}

func TestResume(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 2)
	g.put(topic, 0, 1, 2, 3)
	g.put(topic, 1, 11)
	src := g.source(topic)
	r := start(t, src, nil)
	r.wait(lines(topic, 1, 2, 3, 11)...)
	first := r.checkpoint(1)
	if first.position != 4 || first.rows != 4 {
		t.Errorf("the checkpoint is at %d, behind %d rows", first.position, first.rows)
	}
	g.put(topic, 1, 12)
	r.until("a row", func() bool { return len(r.rows) == 5 })
	r.stop()
	g.put(topic, 0, 4)
	r = start(t, src, first.state) // the row behind the checkpoint comes again
	r.wait(lines(topic, 4, 12)...)
	if c := r.checkpoint(2); c.position != 6 {
		t.Errorf("the second checkpoint is at %d", c.position)
	}
	if p := r.reader.Progress(); p.Position != 6 || p.Server != 6 || p.Start != 4 || p.ChangeRows != 2 || !p.SnapshotDone {
		t.Errorf("progress %+v", p)
	}
}

func TestStartModes(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 2)
	g.put(topic, 0, 1, 2, 3)
	g.put(topic, 1, 11, 12)
	var committed kadm.Offsets
	committed.AddOffset(topic, 0, 1, -1)
	committed.AddOffset(topic, 1, 2, -1)
	if _, err := g.admin.CommitOffsets(t.Context(), g.prefix+"group", committed); err != nil {
		t.Fatal(err)
	}
	for mode, c := range map[string]struct {
		options []string
		want    []int
	}{
		"earliest-offset":  {nil, []int{1, 2, 3, 11, 12}},
		"timestamp":        {[]string{"scan.startup.timestamp-millis", "3000"}, []int{3, 11, 12}},
		"specific-offsets": {[]string{"scan.startup.specific-offsets", "partition:0,offset:2;partition:1,offset:1"}, []int{3, 12}},
		"group-offsets":    {[]string{"properties.group.id", g.prefix + "group"}, []int{2, 3}},
	} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, g.source(topic, append(c.options, optStart, mode, optStop, "latest-offset")...), nil)
			if err := r.ended(); err != nil {
				t.Fatal(err)
			}
			r.wait(lines(topic, c.want...)...)
			if len(r.final) == 0 {
				t.Error("there is no final state")
			}
		})
	}
}

func TestStopModes(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 2)
	g.put(topic, 0, 1, 2, 3)
	g.put(topic, 1, 11, 12)
	for mode, c := range map[string]struct {
		options []string
		want    []int
	}{
		"timestamp":        {[]string{"scan.bounded.timestamp-millis", "3000"}, []int{1, 2}},
		"specific-offsets": {[]string{"scan.bounded.specific-offsets", "partition:0,offset:2;partition:1,offset:0"}, []int{1, 2}},
	} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, g.source(topic, append(c.options, optStop, mode)...), nil)
			if err := r.ended(); err != nil {
				t.Fatal(err)
			}
			r.wait(lines(topic, c.want...)...)
		})
	}
}

// TestLatest: what is there already does not come, and what comes is announced.
func TestLatest(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 1)
	g.put(topic, 0, 1)
	r := start(t, g.source(topic, optStart, "latest-offset"), nil)
	r.checkpoint(1) // it has begun
	g.put(topic, 0, 2)
	r.wait(lines(topic, 2)...)
}

// TestDiscovery: partitions and topics that come while the pipeline runs are read from
// their beginning, and one that came while it was down is so too.
func TestDiscovery(t *testing.T) {
	g := newRig(t)
	src := g.source("", optPattern, g.prefix+"t[0-9]", "scan.topic-partition-discovery.interval", "50ms")
	r := start(t, src, nil) // there is none yet
	one := g.topic("t1", 1)
	g.put(one, 0, 1)
	r.wait(lines(one, 1)...)
	if _, err := g.admin.CreatePartitions(t.Context(), 1, one); err != nil {
		t.Fatal(err)
	}
	other := g.topic("other", 1)
	g.put(other, 0, 99)
	two := g.topic("t2", 1)
	g.put(two, 0, 2)
	r.until("another row", func() bool { return len(r.rows) == 2 })
	g.refresh(one)
	g.put(one, 1, 3)
	r.wait(append(lines(one, 1, 3), lines(two, 2)...)...)
	c := r.checkpoint(1)
	r.stop()
	three := g.topic("t3", 1)
	g.put(three, 0, 4)
	r = start(t, src, c.state)
	r.wait(lines(three, 4)...)
}

// refresh makes the producer know the topic's new partitions.
func (g *rig) refresh(topic string) {
	g.t.Helper()
	g.producer.ForceMetadataRefresh()
	g.producer.PurgeTopicsFromClient(topic)
}

func TestLostRecords(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 1)
	g.put(topic, 0, 1, 2)
	src := g.source(topic)
	r := start(t, src, nil)
	r.wait(lines(topic, 1, 2)...)
	c := r.checkpoint(1)
	r.stop()
	g.put(topic, 0, 3, 4, 5)
	var gone kadm.Offsets
	gone.AddOffset(topic, 0, 4, -1)
	if _, err := g.admin.DeleteRecords(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	err := start(t, src, c.state).ended()
	lost, ok := errors.AsType[*split.LostError](err)
	if !ok || lost.Next != 2 || lost.Start != 4 || lost.End != 5 {
		t.Fatalf("got %v", err)
	}
	r = start(t, g.source(topic, "properties.auto.offset.reset", "earliest"), c.state)
	r.wait(lines(topic, 5)...)
	// Offsets that the topic does not have yet are none to wait for.
	ahead := strings.Replace(string(c.state), `"next":2`, `"next":50`, 1)
	if err := start(t, src, []byte(ahead)).ended(); !errors.Is(err, split.ErrLost) {
		t.Errorf("got %v", err)
	}
}

func TestTopicMadeAnew(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 1)
	g.put(topic, 0, 1)
	src := g.source(topic)
	r := start(t, src, nil)
	r.wait(lines(topic, 1)...)
	c := r.checkpoint(1)
	r.stop()
	if _, err := g.admin.DeleteTopics(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	if err := start(t, src, c.state).ended(); !errors.Is(err, ErrTopic) {
		t.Errorf("of a topic that is gone: %v", err)
	}
	g.topic("a", 1)
	g.refresh(topic)
	g.put(topic, 0, 7)
	if err := start(t, src, c.state).ended(); !errors.Is(err, ErrTopic) || !strings.Contains(err.Error(), "made anew") {
		t.Errorf("of a topic that was made anew: %v", err)
	}
}

func TestDecodeError(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 3)
	g.put(topic, 2, 1)
	if err := g.producer.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: 2, Value: []byte(`{"n":"x"}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	err := start(t, g.source(topic), nil).ended()
	at, ok := errors.AsType[*RecordError](err)
	if !ok || at.Topic != topic || at.Partition != 2 || at.Offset != 1 || !errors.Is(err, ErrDecode) || !strings.Contains(err.Error(), "column n") {
		t.Fatalf("got %v", err)
	}
}

// TestCommitted: what a transaction has not committed does not come, and a checkpoint does
// not cut one.
func TestCommitted(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 1)
	producer := client(t, g.addresses, kgo.TransactionalID(g.prefix+"tx"), kgo.ProducerLinger(0))
	transaction := func(commit kgo.TransactionEndTry, numbers ...int) {
		t.Helper()
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, n := range numbers {
			if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, `{"n":%d}`, n)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := producer.EndTransaction(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	transaction(kgo.TryAbort, 1, 2)
	transaction(kgo.TryCommit, 3, 4)
	r := start(t, g.source(topic), nil)
	r.wait(lines(topic, 3, 4)...)
	c := r.checkpoint(1)
	if c.position != 6 { // four rows, and a marker for each transaction
		t.Errorf("the checkpoint is at %d", c.position)
	}
	tables, err := g.source(topic).Discover(t.Context())
	if err != nil || len(tables) != 1 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	n := 0
	position, err := g.source(topic).Rows(t.Context(), tables[0].Schema, func(b *schema.Batch) error {
		n += b.Rows()
		return nil
	})
	if err != nil || position != 6 || n != 2 {
		t.Errorf("%d rows at %d, %v", n, position, err)
	}
	r = start(t, g.source(topic, "properties.isolation.level", "read_uncommitted"), nil)
	r.wait(lines(topic, 1, 2, 3, 4)...)
}

// TestGroup: offsets of completed checkpoints are committed, and of no others.
func TestGroup(t *testing.T) {
	g := newRig(t)
	topic := g.topic("a", 1)
	group := g.prefix + "group"
	g.put(topic, 0, 1, 2)
	r := start(t, g.source(topic, "properties.group.id", group), nil)
	r.wait(lines(topic, 1, 2)...)
	r.checkpoint(1)
	g.put(topic, 0, 3)
	r.until("a row", func() bool { return len(r.rows) == 3 })
	r.checkpoint(2)
	r.reader.CheckpointComplete(1, 1)
	for limit := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) {
		offsets, err := g.admin.FetchOffsets(t.Context(), group)
		if err != nil && time.Now().After(limit) {
			t.Fatal(err)
		}
		if o, ok := offsets.Lookup(topic, 0); ok && o.At > 0 {
			if o.At != 2 {
				t.Fatalf("offset %d is committed", o.At)
			}
			break
		}
		if time.Now().After(limit) {
			t.Fatal("nothing is committed")
		}
	}
	if p := r.reader.Progress(); p.Committed != 2 {
		t.Errorf("progress %+v", p)
	}
}

func TestCheckAndDiscover(t *testing.T) {
	g := newRig(t)
	topic := g.topic("shop.orders", 1)
	if problems := g.source(topic).Check(t.Context()); len(problems) != 0 {
		t.Errorf("problems %v", problems)
	}
	if problems := g.source("no-such-topic").Check(t.Context()); len(problems) != 1 || !errors.Is(problems[0], ErrTopic) {
		t.Errorf("problems %v", problems)
	}
	if _, err := g.source(topic).Discover(t.Context()); !errors.Is(err, ErrNoTables) {
		t.Errorf("of an empty topic: %v", err)
	}
	tables, err := g.source(topic, optSchema, "a.b (id INT)").Discover(t.Context())
	if err != nil || len(tables) != 1 || tables[0].Schema.ID.String() != "a.b" {
		t.Errorf("tables %v, %v", tables, err)
	}
	g.put(topic, 0, 1)
	tables, err = g.source(topic).Discover(t.Context())
	if err != nil || len(tables) != 1 || tables[0].Schema.ID.String() != topic || len(tables[0].Notes) != 1 {
		t.Errorf("tables %v, %v", tables, err)
	}
}

func TestState(t *testing.T) {
	for _, bad := range []string{"", "{", `{"version":2}`, `{"version":1,"tables":[null]}`} {
		if _, _, err := decodeState([]byte(bad)); !errors.Is(err, ErrState) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
