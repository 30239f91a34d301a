package stream_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/statetest"
	"github.com/freshet-cdc/freshet/runtime/stream"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STREAM_CRASH_DIR"); dir != "" {
		crashChild(dir)
	}
	goleak.VerifyTestMain(m)
}

// memStore keeps checkpoints as JSON in memory, with faults.
type memStore struct {
	files *statetest.DirFiles
	// before and after are asked around a publication; an error fails it,
	// without or with the checkpoint being visible.
	before, after func() error

	mu      sync.Mutex
	saved   map[int64][]byte
	corrupt map[int64]bool
	top     int64
	aborted []int64
	open    int
}

func newMemStore(t testing.TB) *memStore {
	return &memStore{files: &statetest.DirFiles{Dir: t.TempDir()}, saved: map[int64][]byte{}, corrupt: map[int64]bool{}}
}

func (s *memStore) Acquire(context.Context) (checkpoint.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open > 0 {
		return nil, checkpoint.ErrLocked
	}
	s.open++
	return s, nil
}

func (s *memStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	return nil
}

func (s *memStore) Lineage() string    { return "L" }
func (s *memStore) Files() state.Files { return s.files }

func (s *memStore) Next() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.top + 1
}

func (s *memStore) Discard(_ context.Context, id int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.oldest() >= id {
		return checkpoint.ErrLast
	}
	maps.DeleteFunc(s.saved, func(other int64, _ []byte) bool { return other >= id })
	return nil
}

func (s *memStore) Latest(context.Context) (*checkpoint.Metadata, []error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var corrupt []error
	for id := s.top; id > 0; id-- {
		data, ok := s.saved[id]
		if !ok {
			continue
		}
		if s.corrupt[id] {
			corrupt = append(corrupt, fmt.Errorf("%w: checkpoint %d", checkpoint.ErrCorrupt, id))
			continue
		}
		m := new(checkpoint.Metadata)
		return m, corrupt, json.Unmarshal(data, m)
	}
	return nil, corrupt, nil
}

func (s *memStore) Publish(_ context.Context, m *checkpoint.Metadata) (int64, error) {
	if s.before != nil {
		if err := s.before(); err != nil {
			return 0, err
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	if m.ID <= s.top {
		s.mu.Unlock()
		return 0, fmt.Errorf("checkpoint id %d after %d", m.ID, s.top)
	}
	s.saved[m.ID], s.top = data, m.ID
	for len(s.saved) > 3 {
		delete(s.saved, s.oldest())
	}
	oldest := s.oldest()
	s.mu.Unlock()
	if s.after != nil {
		if err := s.after(); err != nil {
			return 0, err
		}
	}
	return oldest, nil
}

func (s *memStore) oldest() int64 {
	oldest := s.top
	for id := range s.saved {
		oldest = min(oldest, id)
	}
	return oldest
}

func (s *memStore) Abort(_ context.Context, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborted = append(s.aborted, id)
}

// latest is the newest checkpoint, decoded.
func (s *memStore) latest(t *testing.T) *checkpoint.Metadata {
	t.Helper()
	m, _, err := s.Latest(t.Context())
	if err != nil || m == nil {
		t.Fatalf("no checkpoint: %v", err)
	}
	return m
}

// chaos fails a call now and then, until its budget is spent.
type chaos struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	budget int
	hits   map[string]int
}

func newChaos(seed uint64, budget int) *chaos {
	return &chaos{rnd: rand.New(rand.NewPCG(seed, 1)), budget: budget, hits: map[string]int{}}
}

var errChaos = errors.New("injected")

// at fails one in n calls; a panic now and then where that is allowed.
func (c *chaos) at(point string, n int, panics bool) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.budget == 0 || c.rnd.IntN(n) != 0 {
		return nil
	}
	c.budget--
	c.hits[point]++
	err := fmt.Errorf("%w at %s", errChaos, point)
	if panics && c.rnd.IntN(2) == 0 {
		panic(err)
	}
	return err
}

// value is a number from the source with its key.
type value struct{ N, Key int64 }

func (v value) hash() int32 { return keygroup.HashLong(v.Key) }

const partitions = 4 // of the source, whatever its parallelism

// numbers emits 0 to total-1 (0: without end), spread over partitions that are
// assigned to subtasks; its state is the next number of each.
type numbers struct {
	total    int64
	keys     int64
	chaos    *chaos
	complete func(id, oldest int64)
	pace     time.Duration // per 100 numbers

	next map[int64]int64
}

func (s *numbers) Run(ctx context.Context, sc stream.Context, out stream.SourceOutput[value]) ([]byte, error) {
	if err := s.chaos.at("source open", 20, true); err != nil {
		return nil, err
	}
	s.next = map[int64]int64{}
	restored := map[int64]int64{}
	for _, raw := range sc.State {
		if err := json.Unmarshal(raw, &restored); err != nil {
			return nil, err
		}
	}
	for p := int64(sc.Subtask); p < partitions; p += int64(sc.Parallelism) {
		s.next[p] = p
		if n, ok := restored[p]; ok {
			s.next[p] = n
		}
	}
	for live := true; live; {
		live = false
		for p := range s.next {
			for range 25 {
				if s.total > 0 && s.next[p] >= s.total {
					break
				}
				live = true
				if err := s.step(ctx, p, out); err != nil {
					return nil, err
				}
			}
		}
		if s.pace > 0 {
			time.Sleep(s.pace)
		}
	}
	return json.Marshal(s.next)
}

func (s *numbers) step(ctx context.Context, p int64, out stream.SourceOutput[value]) error {
	select {
	case id := <-out.Triggers():
		st, _ := json.Marshal(s.next)
		if err := out.Barrier(ctx, id, st); err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	if err := s.chaos.at("source", 20_000, true); err != nil {
		return err
	}
	n := s.next[p]
	s.next[p] += partitions
	return out.Emit(ctx, value{N: n, Key: n % s.keys})
}

func (s *numbers) CheckpointComplete(id, oldest int64) {
	if s.complete != nil {
		s.complete(id, oldest)
	}
}

// counted is a number with how many its key had up to it.
type counted struct{ N, Key, Count int64 }

// counter counts per key in keyed state.
type counter struct {
	stream.Func[value, counted]
	chaos *chaos
	store state.Store
	batch state.Batch
	key   []byte
	kgs   keygroup.Range
	maxP  int
}

func (c *counter) Open(_ context.Context, oc stream.Context) (err error) {
	c.store, err = oc.Store()
	c.kgs, c.maxP = oc.KeyGroups, oc.MaxParallelism
	return err
}

func (c *counter) Process(ctx context.Context, v value, out stream.Collector[counted]) error {
	if err := c.chaos.at("counter", 20_000, true); err != nil {
		return err
	}
	kg := keygroup.Of(v.hash(), c.maxP)
	if !c.kgs.Contains(kg) {
		return fmt.Errorf("key %d of key group %d came to the subtask of %v", v.Key, kg, c.kgs)
	}
	c.key = binary.BigEndian.AppendUint64(keygroup.AppendPrefix(c.key[:0], kg), uint64(v.Key))
	var buf [8]byte
	old, ok, err := c.store.Get(buf[:0], c.key)
	if err != nil {
		return err
	}
	n := uint64(1)
	if ok {
		n += binary.BigEndian.Uint64(old)
	}
	c.batch.Set(c.key, binary.BigEndian.AppendUint64(nil, n))
	if err := c.store.Apply(&c.batch); err != nil {
		return err
	}
	return out.Collect(ctx, counted{v.N, v.Key, int64(n)})
}

func (c *counter) Barrier(context.Context, int64, stream.Collector[counted]) ([]byte, error) {
	return nil, c.chaos.at("counter barrier", 60, true)
}

// target is what lies outside the job: transactions that were committed.
type target struct {
	mu   sync.Mutex
	done map[string]bool
	rows []counted
	// lose says that a transaction can't be committed any more, if it is not nil.
	lose func(transaction) error
	// write stores a transaction that is new; nil keeps it in rows.
	write func(transaction) error
}

type transaction struct {
	Name string
	Rows []counted
}

func txName(id int64, subtask int) string { return fmt.Sprintf("%d/%d", id, subtask) }

func (t *target) commit(tx transaction) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done[tx.Name] {
		return nil
	}
	if t.lose != nil {
		if err := t.lose(tx); err != nil {
			return err
		}
	}
	t.done[tx.Name] = true
	if t.write != nil {
		return t.write(tx)
	}
	t.rows = append(t.rows, tx.Rows...)
	return nil
}

// sink collects rows, prepares them at the barrier and commits them when the
// checkpoint is complete, or in Open after a crash in between.
type sink struct {
	target  *target
	chaos   *chaos
	subtask int
	rows    []counted
	pending []transaction
}

func (s *sink) Open(_ context.Context, oc stream.Context) error {
	s.subtask = oc.Subtask
	for _, raw := range oc.State {
		var txs []transaction
		if err := json.Unmarshal(raw, &txs); err != nil {
			return err
		}
		for _, tx := range txs {
			if err := s.chaos.at("recovery commit", 150, true); err != nil {
				return err
			}
			if err := s.target.commit(tx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *sink) Process(_ context.Context, c counted, _ stream.Collector[stream.Nothing]) error {
	s.rows = append(s.rows, c)
	return s.chaos.at("sink", 20_000, true)
}

func (s *sink) Barrier(_ context.Context, id int64, _ stream.Collector[stream.Nothing]) ([]byte, error) {
	s.pending = append(s.pending, transaction{Name: txName(id, s.subtask), Rows: s.rows})
	s.rows = nil
	if err := s.chaos.at("sink barrier", 60, true); err != nil {
		return nil, err
	}
	return json.Marshal(s.pending)
}

func (s *sink) CheckpointComplete(context.Context, int64) error {
	if err := s.chaos.at("before commit", 40, true); err != nil {
		return err
	}
	for i, tx := range s.pending {
		if err := s.target.commit(tx); err != nil {
			return err
		}
		if err := s.chaos.at("after commit", 40, true); err != nil {
			s.pending = s.pending[i+1:]
			return err
		}
	}
	s.pending = nil
	return nil
}

func (s *sink) Close() error { return s.chaos.at("close", 40, true) }

// verify checks that rows hold 0 to total-1 once each, and per key the counts 1, 2, 3, ... once each.
func (t *target) verify(tb testing.TB, total int64) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	seen, counts := map[int64]int{}, map[[2]int64]int{}
	perKey := map[int64]int64{}
	for _, r := range t.rows {
		seen[r.N]++
		counts[[2]int64{r.Key, r.Count}]++
		perKey[r.Key]++
	}
	for n := range total {
		if seen[n] != 1 {
			tb.Fatalf("number %d came %d times (%d rows)", n, seen[n], len(t.rows))
		}
	}
	if int64(len(t.rows)) != total {
		tb.Fatalf("%d rows, want %d", len(t.rows), total)
	}
	for key, n := range perKey {
		for i := int64(1); i <= n; i++ {
			if counts[[2]int64{key, i}] != 1 {
				tb.Fatalf("key %d: count %d came %d times", key, i, counts[[2]int64{key, i}])
			}
		}
	}
}
