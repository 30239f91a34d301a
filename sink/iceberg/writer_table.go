package iceberg

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	iceberggo "github.com/apache/iceberg-go"

	"github.com/freshet-cdc/freshet/schema"
)

const (
	// groupRows and groupBytes bound the rows that are coalesced together.
	groupRows  = 32 << 10
	groupBytes = 8 << 20
	// pendingLimit is how many written keys wait to be resolved: the more, the
	// cheaper each (see the key index figures in runtime.md), at 50 bytes a key.
	pendingLimit = 400_000
)

// errNoBefore is the cause of a [RowError].
var errNoBefore = errors.New("an update or delete of a table without a key came without the row before it (set REPLICA IDENTITY FULL)")

// tableWriter is the part of a writer that belongs to one sink table.
type tableWriter struct {
	w      *writer
	target schema.TableID
	number uint32
	layout *layout
	index  keyIndex

	indexed, snapshotting, fresh, staged bool
	// partials counts the keys that have partial rows in the state.
	partials int

	group      []part
	groupRows  int
	groupBytes int64

	file    *parquetFile
	fileSeq uint32
	used    uint64
	pending pendingKeys
	deletes deleteSet // of the current step

	// steps are those of the checkpoint, the last is the current one; changed
	// and paths belong to the checkpoint as well.
	steps []tableStep
	paths []string
	last  *schema.Table // the definition last compared with the layout's
}

// begin starts a step.
func (t *tableWriter) begin(c *schema.Change) {
	t.steps = append(t.steps, tableStep{Change: c, Schema: t.layout.staged, Staged: t.staged})
	t.deletes = deleteSet{}
}

func (t *tableWriter) step() *tableStep { return &t.steps[len(t.steps)-1] }

// openIndex makes the keyed state ready for the table and counts its partial rows.
func (t *tableWriter) openIndex() error {
	store, err := t.w.keyStore()
	if err != nil {
		return err
	}
	t.index = keyIndex{store: store, table: t.number, groups: t.w.groups, bulkMinimum: t.w.cfg.BulkMinimum, scratch: &t.w.scratch}
	if t.snapshotting {
		t.partials, err = t.index.countPartials()
	}
	return err
}

// bytes is the memory that the table holds.
func (t *tableWriter) bytes() int64 {
	n := t.groupBytes + t.pending.bytes()
	if t.file != nil {
		n += t.file.bytes
	}
	return n
}

// add takes over the rows of p.
func (t *tableWriter) add(ctx context.Context, p part) error {
	if p.len() == 0 {
		p.batch.Release()
		return nil
	}
	if t.last != p.batch.Table {
		if !sameColumns(t.layout.staged.Source, p.batch.Table) {
			p.batch.Release()
			return fmt.Errorf("iceberg: table %s: rows came with a definition (version %d) that no change announced", t.target, p.batch.Table.Version)
		}
		t.last = p.batch.Table
	}
	t.group = append(t.group, p)
	t.groupRows += p.len()
	size := recordBytes(p.batch.Record)
	if p.batch.Before != nil {
		size += recordBytes(p.batch.Before)
	}
	t.groupBytes += max(1, size*int64(p.len())/int64(p.batch.Rows()))
	if t.groupRows >= groupRows || t.groupBytes >= groupBytes {
		return t.flushGroup(ctx)
	}
	return nil
}

// flushGroup writes the gathered rows.
func (t *tableWriter) flushGroup(ctx context.Context) error {
	if len(t.group) == 0 {
		return nil
	}
	defer t.dropGroup()
	reads, unchanged := true, false
	for _, p := range t.group {
		reads = reads && p.batch.Ops == nil
		unchanged = unchanged || len(p.batch.Unchanged) > 0
	}
	var err error
	switch {
	case unchanged && !t.indexed:
		return fmt.Errorf("iceberg: table %s: a row leaves out cells, but its definition did not say so", t.target)
	case unchanged || t.partials > 0:
		err = t.writeResolved(ctx, t.group)
	case t.layout.staged.Mode == modeAppend:
		err = each(t.group, t.groupRows, t.writeAppend)
	default:
		err = t.writeUpsert(t.group, t.groupRows, reads)
	}
	if err != nil {
		return err
	}
	if len(t.pending.entries) >= pendingLimit {
		return t.resolve(ctx)
	}
	return nil
}

func (t *tableWriter) dropGroup() {
	for _, p := range t.group {
		p.batch.Release()
	}
	clear(t.group)
	t.group, t.groupRows, t.groupBytes = t.group[:0], 0, 0
}

// write appends rows to the open file and returns its number and the position of
// the first.
func (t *tableWriter) write(parts []part, rows []outRow) (seq, position uint32, err error) {
	if len(rows) == 0 {
		return 0, 0, nil
	}
	rec, err := t.buildRecord(parts, rows)
	if err != nil {
		return 0, 0, err
	}
	return t.writeRecord(rec)
}

// writeRecord takes over rec.
func (t *tableWriter) writeRecord(rec arrow.RecordBatch) (seq, position uint32, err error) {
	if t.file == nil {
		if t.fileSeq, err = t.w.nextSeq(); err != nil {
			rec.Release()
			return 0, 0, err
		}
		path, err := t.w.registry.path(t.target, t.ref(t.fileSeq))
		if err != nil {
			rec.Release()
			return 0, 0, err
		}
		t.file = newParquetFile(t.w.parquetOptions(t), path, t.layout.arrow)
	}
	seq = t.fileSeq
	at, err := t.file.append(rec)
	if err != nil {
		return 0, 0, err
	}
	if t.file.written >= t.w.cfg.TargetFileSize {
		err = t.closeFile()
	}
	return seq, uint32(at), err
}

func (t *tableWriter) ref(seq uint32) fileRef { return fileRef{t.w.epoch.Epoch, seq} }

// closeFile ends the open file, if there is one.
func (t *tableWriter) closeFile() error {
	if t.file == nil {
		return nil
	}
	f := t.file
	df, err := f.close(t.layout.staged.Iceberg, iceberggo.EntryContentData)
	if err != nil {
		return err // discard removes it
	}
	t.file = nil
	t.step().Files = append(t.step().Files, df)
	t.paths = append(t.paths, f.path)
	return nil
}

// resolve brings the key index up to date.
func (t *tableWriter) resolve(ctx context.Context) error {
	if !t.indexed {
		return nil
	}
	var deletes deleteSet
	if t.layout.staged.Mode == modeUpsert {
		deletes = t.deletes
	}
	if err := t.index.resolve(ctx, &t.pending, t.w.epoch.Epoch, deletes); err != nil {
		return fmt.Errorf("table %s: %w", t.target, err)
	}
	return nil
}

// spill frees the first of these that there is: the batches, of which small ones
// take many times the memory of the record that they become; the open file's rows or
// the keys, whichever is more.
func (t *tableWriter) spill(ctx context.Context) error {
	if len(t.group) > 0 {
		return t.flushGroup(ctx)
	}
	if t.file != nil && t.file.bytes >= t.pending.bytes() {
		if err := t.file.flush(); err != nil {
			return err
		}
		if t.file.written >= t.w.cfg.TargetFileSize {
			return t.closeFile()
		}
		return nil
	}
	if err := t.resolve(ctx); err != nil {
		return err
	}
	t.pending.shrink()
	return nil
}

// settle leaves nothing of the current step in memory.
func (t *tableWriter) settle(ctx context.Context) error {
	if err := t.flushGroup(ctx); err != nil {
		return err
	}
	if err := t.closeFile(); err != nil {
		return err
	}
	if err := t.resolve(ctx); err != nil {
		return err
	}
	sorted, err := t.deletes.sorted(func(ref fileRef) (string, error) { return t.w.registry.path(t.target, ref) })
	if err != nil {
		return err
	}
	t.step().Deletes = sorted // again when more follows in this step
	return nil
}

// prepare ends the checkpoint for the table; nil when nothing happened to it.
func (t *tableWriter) prepare(ctx context.Context) (*tableCommittable, error) {
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	t.pending.shrink()
	steps := t.steps
	t.steps, t.paths = nil, nil
	t.begin(nil)
	if first := steps[0]; len(steps) == 1 && len(first.Files) == 0 && len(first.Deletes) == 0 {
		return nil, nil
	}
	return &tableCommittable{Table: t.target, Steps: steps}, nil
}

// wipe forgets everything of the table, and removes what this checkpoint has written of it.
func (t *tableWriter) wipe() error {
	errs := []error{t.discard()}
	for i := range t.steps {
		t.steps[i].Files, t.steps[i].Deletes = nil, nil
	}
	t.pending.reset()
	t.deletes = deleteSet{}
	t.partials = 0
	if t.indexed {
		errs = append(errs, t.index.clear())
	}
	return errors.Join(errs...)
}

// discard removes the files of the checkpoint that is not prepared yet.
func (t *tableWriter) discard() error {
	t.dropGroup()
	var errs []error
	if t.file != nil {
		errs = append(errs, t.file.abort())
		t.file = nil
	}
	for _, p := range t.paths {
		errs = append(errs, t.w.cfg.FS.Remove(p))
	}
	t.paths = nil
	return errors.Join(errs...)
}
