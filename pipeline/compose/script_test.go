package compose

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/source"
)

// script is a source whose log is fixed: transaction n holds the ids 10n to
// 10n+9 of each of its tables and ends at position n.
type script struct {
	source.Source
	mem    memory.Allocator
	tables []*schema.Table
	end    uint64 // transactions
	bound  bool   // it ends there, rather than waiting
	fail   func(position uint64) error

	mu        sync.Mutex
	confirmed []int64
	readers   []*scriptReader
}

func (s *script) Kind() string { return "script" }
func (s *script) NewReader() source.Reader {
	r := &scriptReader{script: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = append(s.readers, r)
	return r
}

type scriptReader struct {
	*script
	mu       sync.Mutex
	progress source.Progress
	at       map[int64]uint64
}

func (r *scriptReader) Run(ctx context.Context, rc source.Context, out source.Output) ([]byte, error) {
	position := uint64(0)
	if rc.Restored {
		position = binary.BigEndian.Uint64(rc.State)
	}
	state := func() []byte { return binary.BigEndian.AppendUint64(nil, position) }
	r.note(func(p *source.Progress) { p.Start, p.SnapshotDone, p.Position = r.end, true, position })
	for _, t := range r.tables {
		if err := out.Emit(ctx, source.Element{Change: &schema.Change{Kind: schema.ChangeCreateTable, Table: t.ID, After: t}}); err != nil {
			return nil, err
		}
	}
	for {
		if position == r.end && r.bound {
			return state(), nil
		}
		var more chan struct{}
		if position < r.end {
			more = make(chan struct{})
			close(more)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case id := <-out.Triggers():
			r.mu.Lock()
			if r.at == nil {
				r.at = map[int64]uint64{}
			}
			r.at[id] = position
			r.mu.Unlock()
			if err := out.Barrier(ctx, id, position, state()); err != nil {
				return nil, err
			}
		case <-more:
			position++
			for _, t := range r.tables {
				ids := make([]int64, 10)
				for i := range ids {
					ids[i] = int64(position)*10 + int64(i)
				}
				b := numbers(r.mem, t, ids...)
				b.Txs = []schema.Tx{{Commit: position, Rows: 10}}
				if err := out.Emit(ctx, source.Element{Batch: b}); err != nil {
					return nil, err
				}
			}
			r.note(func(p *source.Progress) { p.Position = position })
			if r.fail != nil {
				if err := r.fail(position); err != nil {
					return nil, err
				}
			}
		}
	}
}

func (r *scriptReader) note(fn func(*source.Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn(&r.progress)
}

func (r *scriptReader) CheckpointComplete(id, _ int64) {
	r.note(func(p *source.Progress) { p.Committed = max(p.Committed, r.at[id]) })
	r.script.mu.Lock()
	defer r.script.mu.Unlock()
	r.confirmed = append(r.confirmed, id)
}

func (r *scriptReader) Progress() source.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// shelf is a sink that keeps rows in the memory of the test, which outlives the
// executions: what is visible is what was committed.
type shelf struct {
	sink.Sink
	mu        sync.Mutex
	visible   []string // "table id"
	changes   int
	committed int64
	position  uint64
	writers   map[string]map[int]bool // the subtasks that saw a key
	fail      func(point string) error
	opened    []string
}

func (s *shelf) Kind() string { return "shelf" }

func (s *shelf) at(point string) error {
	if s.fail == nil {
		return nil
	}
	return s.fail(point)
}

func (s *shelf) NewWriter(_ context.Context, sc sink.Context) (sink.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, "writer")
	return &shelfWriter{shelf: s, subtask: sc.Subtask}, nil
}

func (s *shelf) NewCommitter(_ context.Context, sc sink.Context) (sink.Committer, error) {
	s.mu.Lock()
	s.opened = append(s.opened, "committer")
	s.mu.Unlock()
	c := &shelfCommitter{shelf: s}
	if sc.Restored && len(sc.State) > 0 {
		if err := json.Unmarshal(sc.State[0], &c.pending); err != nil {
			return nil, err
		}
		return c, c.Commit(context.Background(), sc.RestoredID)
	}
	return c, nil
}

type shelfWriter struct {
	*shelf
	subtask int
	rows    []sink.Committable
}

func (w *shelfWriter) Write(_ context.Context, in sink.Input) error {
	defer in.Release()
	w.mu.Lock()
	defer w.mu.Unlock()
	if in.Change != nil {
		w.changes++
		return nil
	}
	rows := in.Select
	if rows == nil {
		for i := range in.Batch.Rows() {
			rows = append(rows, int32(i))
		}
	}
	for _, row := range rows {
		id := in.Batch.Record.Column(0).(*array.Int64).Value(int(row))
		key := fmt.Sprintf("%s %d", in.Table, id)
		if w.writers == nil {
			w.writers = map[string]map[int]bool{}
		}
		if w.writers[key] == nil {
			w.writers[key] = map[int]bool{}
		}
		w.writers[key][w.subtask] = true
		w.rows = append(w.rows, key)
	}
	return nil
}

func (w *shelfWriter) Prepare(context.Context, int64) ([]sink.Committable, []byte, error) {
	rows := w.rows
	w.rows = nil
	return rows, nil, w.at("prepare")
}

func (w *shelfWriter) Close() error { return nil }

type pendingCommit struct {
	ID       int64
	Position uint64
	Rows     []string
}

type shelfCommitter struct {
	*shelf
	pending []pendingCommit
}

func (c *shelfCommitter) Collect(_ context.Context, id int64, position uint64, all [][]sink.Committable) ([]byte, error) {
	p := pendingCommit{ID: id, Position: position}
	for _, writer := range all {
		for _, row := range writer {
			p.Rows = append(p.Rows, row.(string))
		}
	}
	c.pending = append(c.pending, p)
	return json.Marshal(c.pending)
}

func (c *shelfCommitter) Commit(_ context.Context, id int64) error {
	if err := c.at("commit"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending) > 0 && c.pending[0].ID <= id {
		p := c.pending[0]
		c.pending = c.pending[1:]
		if p.ID <= c.committed {
			continue // by its marker
		}
		if p.Position < c.position {
			return errors.New("the position went back")
		}
		c.visible = append(c.visible, p.Rows...)
		c.committed, c.position = p.ID, p.Position
	}
	return nil
}

func (c *shelfCommitter) Close() error { return nil }

// missing compares what is visible with the script up to position, table by table.
func (s *shelf) missing(targets []string, position uint64) (lost, doubled int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]int{}
	for _, key := range s.visible {
		seen[key]++
	}
	for _, target := range targets {
		for id := int64(10); id < int64(position+1)*10; id++ {
			if seen[fmt.Sprintf("%s %d", target, id)] == 0 {
				lost++
			}
		}
	}
	for _, n := range seen {
		doubled += n - 1
	}
	return lost, doubled
}

func (s *shelf) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.opened)
}
