package sourcetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/source"
)

// checkpoint is what one barrier left behind.
type checkpoint struct {
	id       int64
	position uint64
	state    []byte
	handle   state.Handle
	model    *Model
}

// Log runs the readers of a source, one execution after the other, and keeps
// what they emit.
type Log struct {
	t       *testing.T
	src     source.Source
	backend state.Backend
	dir     string
	files   folder
	nextID  int64

	mu      sync.Mutex
	model   *Model
	kept    []checkpoint // at most keep, oldest first
	reader  source.Reader
	cancel  context.CancelFunc
	done    chan struct{}
	err     error
	final   []byte
	opened  int
	ending  bool
	trigger chan int64
	store   state.Store
	// Delay slows the consumer of reads down, so that snapshots take long enough
	// to be met by restarts and changes.
	Delay atomic.Int64 // nanoseconds
	// OnBarrier checks the model at every checkpoint.
	OnBarrier func(m *Model) error
	// MayGoBack lets positions go back, as they do behind a failover to a server
	// that had not got the end of the log.
	MayGoBack bool
}

// keep is the number of checkpoints that are retained.
const keep = 3

// NewLog returns a log that has not started.
func NewLog(t *testing.T, src source.Source, backend state.Backend) *Log {
	dir := t.TempDir()
	return &Log{t: t, src: src, backend: backend, dir: dir, files: folder(filepath.Join(dir, "shared")), model: NewModel()}
}

// SetSource changes the source, as another configuration of a pipeline would, from the
// next Start on.
func (l *Log) SetSource(src source.Source) { l.src = src }

// Start runs a reader from the kept checkpoint that is back checkpoints before
// the newest, or from nothing.
func (l *Log) Start(back int) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	rc := source.Context{Pipeline: "test", Lineage: l.dir, Needs: source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: true, Reset: true}}
	var handles []state.Handle
	l.model = NewModel()
	if n := len(l.kept); n > 0 {
		l.kept = l.kept[:n-min(back, n-1)]
		c := l.kept[len(l.kept)-1]
		l.model = c.model.Clone()
		rc.Restored, rc.RestoredID, rc.State = true, c.id, c.state
		handles = []state.Handle{c.handle}
	}
	l.opened++
	dir := filepath.Join(l.dir, fmt.Sprint("store", l.opened))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	store, err := l.backend.Open(l.t.Context(), state.Options{Dir: dir, Operator: "source", KeyGroups: keygroup.Range{First: 0, Last: 127}, Restore: handles, Files: l.files})
	if err != nil {
		l.t.Fatal(err)
	}
	l.store = store
	rc.Store = func() (state.Store, error) { return store, nil }
	ctx, cancel := context.WithCancel(context.Background())
	l.reader, l.cancel, l.done, l.err, l.ending = l.src.NewReader(), cancel, make(chan struct{}), nil, false
	l.trigger = make(chan int64, 1)
	go l.run(ctx, rc, l.reader, l.done, store)
	go l.tick(ctx, l.trigger)
}

func (l *Log) run(ctx context.Context, rc source.Context, reader source.Reader, done chan struct{}, store state.Store) {
	defer close(done)
	final, err := reader.Run(ctx, rc, (*output)(l))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.final = final
	if !l.ending {
		l.err = err
	}
	store.Close()
}

// tick wants a checkpoint every now and then.
func (l *Log) tick(ctx context.Context, trigger chan int64) {
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.mu.Lock()
			l.nextID++
			id := l.nextID
			l.mu.Unlock()
			select {
			case trigger <- id:
			default:
			}
		}
	}
}

// Stop ends the reader as a crash would: what came after the last checkpoint is lost.
func (l *Log) Stop() {
	l.t.Helper()
	l.mu.Lock()
	if l.cancel == nil {
		l.mu.Unlock()
		return
	}
	l.ending = l.err == nil
	cancel, done := l.cancel, l.done
	l.mu.Unlock()
	cancel()
	<-done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = nil
	if l.err != nil {
		l.t.Fatalf("reader: %v", l.err)
	}
}

// Err returns the error that ended the reader, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Final waits for a reader that ends by itself and returns its final state.
func (l *Log) Final(timeout time.Duration) ([]byte, error) {
	select {
	case <-l.done:
	case <-time.After(timeout):
		return nil, fmt.Errorf("the reader does not end: %+v", l.Progress())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.cancel = nil
	return l.final, l.err
}

// Progress is that of the present reader.
func (l *Log) Progress() source.Progress {
	l.mu.Lock()
	r := l.reader
	l.mu.Unlock()
	return r.Progress()
}

// Last returns the model and position of the newest checkpoint, nil before the first.
func (l *Log) Last() (*Model, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return nil, 0
	}
	c := l.kept[len(l.kept)-1]
	return c.model, c.position
}

// Checkpoints counts the checkpoints so far.
func (l *Log) Checkpoints() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return 0
	}
	return l.kept[len(l.kept)-1].id
}

// output is the Log as the reader sees it.
type output Log

func (o *output) Emit(ctx context.Context, e source.Element) error {
	if e.Batch != nil && e.Batch.Ops == nil {
		time.Sleep(time.Duration(o.Delay.Load()))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		if e.Batch != nil {
			e.Batch.Release()
		}
		return err
	}
	return o.model.Apply(e)
}

func (o *output) Triggers() <-chan int64 { return o.trigger }

func (o *output) Barrier(ctx context.Context, id int64, position uint64, st []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	snap, err := o.store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	handle, err := snap.Upload(ctx, o.files)
	if err != nil {
		return err
	}
	if n := len(o.kept); n > 0 && !o.MayGoBack && position < o.kept[n-1].position {
		return fmt.Errorf("checkpoint %d at %d lies before checkpoint %d at %d", id, position, o.kept[n-1].id, o.kept[n-1].position)
	}
	if o.OnBarrier != nil {
		if err := o.OnBarrier(o.model); err != nil {
			return fmt.Errorf("checkpoint %d: %w", id, err)
		}
	}
	o.kept = append(o.kept, checkpoint{id, position, append([]byte(nil), st...), handle, o.model.Clone()})
	if len(o.kept) > keep {
		o.kept = o.kept[1:]
	}
	oldest := o.kept[0].id
	reader := o.reader
	go reader.CheckpointComplete(id, oldest)
	return nil
}

// folder is a state.Files in a local folder.
type folder string

func (f folder) Put(_ context.Context, name, path string) error {
	to := filepath.Join(string(f), name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	return copyFile(to, path)
}

func (f folder) Fetch(_ context.Context, name, path string) error {
	return copyFile(path, filepath.Join(string(f), name))
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
