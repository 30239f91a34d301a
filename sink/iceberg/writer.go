package iceberg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/memory"
	iceberggo "github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// writerConfig is what the sink's options mean for a writer.
type writerConfig struct {
	// FS creates files that are durable once closed.
	FS iceio.WriteFileIO
	// Location returns the root of a table, without a slash at the end.
	Location func(schema.TableID) string
	Mode     writeMode
	// TargetFileSize is where a file ends, in bytes; 0 means 128 MiB.
	TargetFileSize int64
	// MaxOpenFiles bounds the files that are open at a time; 0 means 32.
	MaxOpenFiles int
	// BufferBytes bounds the rows and keys that one writer holds; 0 means 64 MiB.
	BufferBytes int64
	// BulkMinimum is how many new keys make a bulk load of the index worth it; 0
	// means 8192.
	BulkMinimum      int
	CompressionLevel int
	TemporalInfinity infinityMode
	// Allocator is Arrow's; nil means the default one.
	Allocator memory.Allocator
}

const (
	defaultTargetFileSize = 128 << 20
	defaultMaxOpenFiles   = 32
	defaultBufferBytes    = 64 << 20
	defaultBulkMinimum    = 8192
)

func (c writerConfig) withDefaults() writerConfig {
	if c.TargetFileSize <= 0 {
		c.TargetFileSize = defaultTargetFileSize
	}
	if c.MaxOpenFiles <= 0 {
		c.MaxOpenFiles = defaultMaxOpenFiles
	}
	if c.BufferBytes <= 0 {
		c.BufferBytes = defaultBufferBytes
	}
	if c.BulkMinimum <= 0 {
		c.BulkMinimum = defaultBulkMinimum
	}
	if c.CompressionLevel == 0 {
		c.CompressionLevel = defaultCompressionLevel
	}
	if c.Allocator == nil {
		c.Allocator = memory.DefaultAllocator
	}
	return c
}

// writer is the [sink.Writer] of one subtask. Rows gather in groups that are
// coalesced and written to one open Parquet file a table; the keys of what was
// written gather beside them until they are resolved against the key index, all
// at once and in order. At Prepare nothing is left in memory.
type writer struct {
	cfg            writerConfig
	mem            memory.Allocator
	groups         keygroup.Range
	maxParallelism int
	subtask        int
	epoch          epochRecord
	registry       registry
	openStore      func() (state.Store, error)
	store          state.Store
	seq            uint32 // files of the epoch

	tables map[schema.TableID]*tableWriter
	order  []*tableWriter // by number
	clock  uint64         // counts inputs, for the least recently used file
	held   int64          // bytes of all tables, never less than they are

	// Memory that all tables share, since one is written at a time.
	keys      []schema.Keys
	rows      []outRow
	coalescer coalescer
	scratch   []pendingKey
}

// newWriter opens the writer of a subtask and restores its state.
func newWriter(_ context.Context, cfg writerConfig, sc sink.Context) (*writer, error) {
	cfg = cfg.withDefaults()
	w := &writer{
		cfg: cfg, mem: cfg.Allocator, groups: sc.KeyGroups, maxParallelism: sc.MaxParallelism, subtask: sc.Subtask,
		openStore: sc.Store, tables: map[schema.TableID]*tableWriter{},
		registry: registry{epochs: map[uint32]epochRecord{}, location: cfg.Location},
	}
	base, err := w.restore(sc.State)
	if err != nil {
		return nil, err
	}
	w.epoch = epochRecord{Epoch: base + uint32(sc.Subtask), Subtask: sc.Subtask, Lineage: sc.Lineage, UUID: uuid.New()}
	w.registry.epochs[w.epoch.Epoch] = w.epoch
	return w, nil
}

// Write takes over in.
func (w *writer) Write(ctx context.Context, in sink.Input) error {
	w.clock++
	if in.Change != nil {
		return w.change(ctx, in.Table, in.Change)
	}
	t, ok := w.tables[in.Table]
	if !ok {
		in.Release()
		return fmt.Errorf("iceberg: rows of table %s came before its definition", in.Table)
	}
	t.used = w.clock
	before := t.bytes()
	if err := t.add(ctx, part{batch: in.Batch, sel: in.Select}); err != nil {
		return err
	}
	if w.held += t.bytes() - before; w.held <= w.cfg.BufferBytes {
		return nil
	}
	return w.limitBuffers(ctx)
}

// limitBuffers writes out the largest table until the writer is within its budget.
func (w *writer) limitBuffers(ctx context.Context) error {
	for {
		w.held = 0
		var largest *tableWriter
		size := int64(0)
		for _, t := range w.order {
			n := t.bytes()
			w.held += n
			if n > size {
				largest, size = t, n
			}
		}
		if w.held <= w.cfg.BufferBytes || largest == nil {
			return nil
		}
		if err := largest.spill(ctx); err != nil {
			return err
		}
	}
}

// makeRoom ends the files that were not used for longest until t may open one.
func (w *writer) makeRoom(t *tableWriter) error {
	for {
		open := 0
		var oldest *tableWriter
		for _, o := range w.order {
			if o == t || o.file == nil || !o.file.opened() {
				continue
			}
			open++
			if oldest == nil || o.used < oldest.used {
				oldest = o
			}
		}
		if open < w.cfg.MaxOpenFiles {
			return nil
		}
		if err := oldest.closeFile(); err != nil {
			return err
		}
	}
}

// Prepare closes all files and brings the key index up to date.
func (w *writer) Prepare(ctx context.Context, _ int64) ([]sink.Committable, []byte, error) {
	out := []sink.Committable{writerInfo{Subtask: w.subtask, Epoch: w.epoch.Epoch, UUID: w.epoch.UUID}}
	for _, t := range w.order {
		c, err := t.prepare(ctx)
		if err != nil {
			return nil, nil, err
		}
		if c != nil {
			out = append(out, c)
		}
	}
	w.scratch, w.held = nil, 0
	blob, err := w.snapshot()
	if err != nil {
		return nil, nil, err
	}
	return out, blob, nil
}

// Close removes what was not prepared.
func (w *writer) Close() error {
	var errs []error
	for _, t := range w.order {
		errs = append(errs, t.discard())
	}
	w.order, w.tables = nil, nil
	return errors.Join(errs...)
}

// keyStore opens the keyed state when the first table needs it.
func (w *writer) keyStore() (state.Store, error) {
	if w.store == nil {
		s, err := w.openStore()
		if err != nil {
			return nil, fmt.Errorf("iceberg: opening the key index: %w", err)
		}
		w.store = s
	}
	return w.store, nil
}

// nextSeq numbers the files of the epoch.
func (w *writer) nextSeq() (uint32, error) {
	if w.seq == math.MaxUint32 {
		return 0, errors.New("iceberg: a writer has made 2^32 files; restart the pipeline")
	}
	w.seq++
	return w.seq, nil
}

func (w *writer) parquetOptions(t *tableWriter) parquetOptions {
	return parquetOptions{fs: w.cfg.FS, mem: w.mem, level: w.cfg.CompressionLevel, spec: *iceberggo.UnpartitionedSpec, beforeOpen: func() error { return w.makeRoom(t) }}
}

// addTable enters a table that was not known before.
func (w *writer) addTable(t *tableWriter) error {
	l, err := newLayout(t.layout.staged)
	if err != nil {
		return err
	}
	t.layout = l
	t.w = w
	w.tables[t.target] = t
	w.order = append(w.order, t)
	slices.SortFunc(w.order, func(a, b *tableWriter) int { return int(int64(a.number) - int64(b.number)) })
	t.begin(nil)
	if t.indexed {
		return t.openIndex()
	}
	return nil
}
