package iceberg

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// formatVersion is the version of the table format that we write.
const formatVersion = 2

// snapshotBuilder writes the manifests of one commit: everything that a checkpoint
// does to a table becomes one snapshot, whatever the number of schemas that its
// files were written in, since fields are found by id. A truncate or reset marks
// what was there as deleted in the same snapshot, so readers see the table before
// or after the checkpoint and nothing between. iceberg-go's own transactions make one snapshot
// an operation, can't change a schema twice, and never merge delete manifests.
type snapshotBuilder struct {
	fs   durableFS
	meta table.Metadata
	// schema is in force after the commit; id is the new snapshot.
	schema *iceberggo.Schema
	id     int64
	// prefix is in the names of all files: lineage, checkpoint and attempt.
	prefix  string
	written []string
	numbers int // of manifests, those of attempts before included

	// added are the manifests of the new files, which are the same whatever the
	// table's other manifests are; totals counts these files.
	added   []iceberggo.ManifestFile
	totals  snapshotTotals
	rebased int

	summary snapshotTotals
}

// maxMerges is how many attempts merge manifests: whoever loses a race again and
// again must be quick.
const maxMerges = 2

// rebase makes the builder of a refused commit ready for the table as it is now. The
// manifests of the new files stay, all else is removed; false if nothing can be used.
func (b *snapshotBuilder) rebase(meta table.Metadata, sc *iceberggo.Schema, w *tableWork) bool {
	if w.Replace || meta.SnapshotByID(b.id) != nil || sc.ID != b.schema.ID || len(b.added) == 0 {
		b.discard()
		return false
	}
	keep := map[string]bool{}
	for _, m := range b.added {
		keep[m.FilePath()] = true
	}
	for _, path := range b.written {
		if !keep[path] {
			_ = b.fs.Remove(path) // else it is an orphan, and those are removed at the next start
		}
	}
	b.written = slices.DeleteFunc(b.written, func(path string) bool { return !keep[path] })
	b.meta, b.schema, b.summary = meta, sc, b.totals
	b.rebased++
	return true
}

// snapshotTotals counts for the summary.
type snapshotTotals struct {
	addedData, addedDeletes, removedData, removedDeletes             int64
	addedRecords, addedPositions, removedRecords, removedPositions   int64
	addedBytes, removedBytes, removedEqualities                      int64
	addedPositionFiles, removedPositionFiles, removedEqualityDeletes int64
}

func newSnapshotBuilder(fs durableFS, meta table.Metadata, sc *iceberggo.Schema, prefix string) *snapshotBuilder {
	b := &snapshotBuilder{fs: fs, meta: meta, schema: sc, prefix: prefix}
	for b.id = rand.Int64N(1<<62) + 1; meta.SnapshotByID(b.id) != nil; b.id++ {
	}
	return b
}

// build writes the manifests and the list for w and returns the snapshot. On an
// error, and when the commit is refused, discard removes what was written.
func (b *snapshotBuilder) build(w *tableWork, m marker) (*table.Snapshot, error) {
	parent := b.meta.CurrentSnapshot()
	var manifests []iceberggo.ManifestFile
	if parent != nil {
		var err error
		if manifests, err = parent.Manifests(b.fs); err != nil {
			return nil, fmt.Errorf("manifest list of snapshot %d: %w", parent.SnapshotID, err)
		}
	}
	var err error
	if err := b.writeAdded(w); err != nil {
		return nil, err
	}
	switch {
	case w.Replace:
		manifests, err = b.deleteAll(manifests)
	case b.rebased < maxMerges:
		manifests, err = b.merge(manifests)
	}
	if err != nil {
		return nil, err
	}
	return b.list(parent, slices.Concat(b.added, manifests), w, m)
}

// writeAdded writes the manifests of the new files, deletes first, unless an attempt
// before has.
func (b *snapshotBuilder) writeAdded(w *tableWork) error {
	if len(b.added) > 0 {
		return nil
	}
	for _, part := range []struct {
		content iceberggo.ManifestContent
		files   []iceberggo.DataFile
	}{{iceberggo.ManifestContentDeletes, w.Deletes}, {iceberggo.ManifestContentData, w.Data}} {
		if len(part.files) == 0 {
			continue
		}
		mf, err := b.addedManifest(part.content, part.files)
		if err != nil {
			return err
		}
		b.added = append(b.added, mf)
	}
	b.totals = b.summary
	return nil
}

// addedManifest writes a manifest of new files.
func (b *snapshotBuilder) addedManifest(content iceberggo.ManifestContent, files []iceberggo.DataFile) (iceberggo.ManifestFile, error) {
	return b.manifest(*iceberggo.UnpartitionedSpec, content, func(w *iceberggo.ManifestWriter) error {
		for _, f := range files {
			b.summary.add(f)
			if err := w.Add(iceberggo.NewManifestEntry(iceberggo.EntryStatusADDED, &b.id, nil, nil, f)); err != nil {
				return fmt.Errorf("manifest entry of %s: %w", f.FilePath(), err)
			}
		}
		return nil
	})
}

// deleteAll rewrites all manifests with every live file as deleted.
func (b *snapshotBuilder) deleteAll(manifests []iceberggo.ManifestFile) ([]iceberggo.ManifestFile, error) {
	var out []iceberggo.ManifestFile
	for _, old := range manifests {
		mf, err := b.rewrite([]iceberggo.ManifestFile{old}, func(w *iceberggo.ManifestWriter, e iceberggo.ManifestEntry) error {
			b.summary.remove(e.DataFile())
			return w.Delete(e)
		})
		if err != nil {
			return nil, err
		}
		if mf != nil {
			out = append(out, mf)
		}
	}
	return out, nil
}

// rewrite writes one manifest from the live entries of several of the same kind and
// partition spec; nil when there is none.
func (b *snapshotBuilder) rewrite(from []iceberggo.ManifestFile, put func(*iceberggo.ManifestWriter, iceberggo.ManifestEntry) error) (iceberggo.ManifestFile, error) {
	spec := b.meta.PartitionSpecByID(int(from[0].PartitionSpecID()))
	if spec == nil {
		return nil, fmt.Errorf("manifest %s names partition spec %d, which the table does not have", from[0].FilePath(), from[0].PartitionSpecID())
	}
	mf, err := b.manifest(*spec, from[0].ManifestContent(), func(w *iceberggo.ManifestWriter) error {
		for _, m := range from {
			for e, err := range m.Entries(b.fs, true) {
				if err != nil {
					return fmt.Errorf("manifest %s: %w", m.FilePath(), err)
				}
				if err := put(w, e); err != nil {
					return fmt.Errorf("manifest entry of %s: %w", e.DataFile().FilePath(), err)
				}
			}
		}
		return nil
	})
	if errors.Is(err, iceberggo.ErrEmptyManifest) { // nothing in them was alive
		last := len(b.written) - 1
		return nil, b.fs.Remove(b.written[last])
	}
	return mf, err
}

// manifest writes one manifest, synced.
func (b *snapshotBuilder) manifest(spec iceberggo.PartitionSpec, content iceberggo.ManifestContent, fill func(*iceberggo.ManifestWriter) error) (_ iceberggo.ManifestFile, err error) {
	path := b.path(fmt.Sprintf("%s-%d-m%d.avro", b.prefix, b.id, b.numbers))
	b.numbers++
	out, err := b.create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var length int64
	w, err := iceberggo.NewManifestWriter(formatVersion, &countingWriter{w: out, n: &length}, spec, b.schema, b.id, iceberggo.WithManifestWriterContent(content))
	if err != nil {
		return nil, err
	}
	if err := fill(w); err != nil {
		return nil, errors.Join(err, ignoreEmpty(w.Close()))
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return w.ToManifestFile(path, length)
}

func ignoreEmpty(err error) error {
	if errors.Is(err, iceberggo.ErrEmptyManifest) {
		return nil
	}
	return err
}

// list writes the manifest list and makes the snapshot.
func (b *snapshotBuilder) list(parent *table.Snapshot, manifests []iceberggo.ManifestFile, w *tableWork, m marker) (_ *table.Snapshot, err error) {
	sequence := b.meta.LastSequenceNumber() + 1
	var parentID *int64
	var before iceberggo.Properties
	now := time.Now().UnixMilli()
	if parent != nil {
		parentID = &parent.SnapshotID
		now = max(now, parent.TimestampMs) // the clock may have been set back
		if parent.Summary != nil {
			before = parent.Summary.Properties
		}
	}
	path := b.path(fmt.Sprintf("snap-%d-%s.avro", b.id, b.prefix))
	out, err := b.create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := iceberggo.WriteManifestList(formatVersion, out, b.id, parentID, &sequence, 0, manifests); err != nil {
		return nil, fmt.Errorf("manifest list: %w", err)
	}
	props := b.summary.properties(before)
	maps.Copy(props, m.properties())
	schemaID := b.schema.ID
	return &table.Snapshot{
		SnapshotID: b.id, ParentSnapshotID: parentID, SequenceNumber: sequence, TimestampMs: now, ManifestList: path,
		Summary: &table.Summary{Operation: operation(w), Properties: props}, SchemaID: &schemaID,
	}, nil
}

// operation names what the snapshot did, as the specification defines it.
func operation(w *tableWork) table.Operation {
	switch {
	case w.Replace && len(w.Data) == 0:
		return table.OpDelete
	case w.Replace, len(w.Deletes) > 0 && len(w.Data) > 0:
		return table.OpOverwrite
	case len(w.Deletes) > 0:
		return table.OpDelete
	}
	return table.OpAppend
}

func (b *snapshotBuilder) path(name string) string { return b.meta.Location() + "/metadata/" + name }

// create opens a file of the commit. Its folder is synced by the metadata file that
// the catalog writes after it, beside it.
func (b *snapshotBuilder) create(path string) (io.WriteCloser, error) {
	b.written = append(b.written, path)
	return b.fs.createUnnamed(path)
}

// discard removes the files of a commit that did not take place.
func (b *snapshotBuilder) discard() {
	for _, path := range b.written {
		_ = b.fs.Remove(path) // else it is an orphan, and those are removed at the next start
	}
}

func (t *snapshotTotals) add(f iceberggo.DataFile) {
	t.addedBytes += f.FileSizeBytes()
	if f.ContentType() == iceberggo.EntryContentData {
		t.addedData++
		t.addedRecords += f.Count()
		return
	}
	t.addedDeletes++
	t.addedPositionFiles++
	t.addedPositions += f.Count()
}

func (t *snapshotTotals) remove(f iceberggo.DataFile) {
	t.removedBytes += f.FileSizeBytes()
	switch f.ContentType() {
	case iceberggo.EntryContentData:
		t.removedData++
		t.removedRecords += f.Count()
		return
	case iceberggo.EntryContentPosDeletes:
		t.removedPositionFiles++
		t.removedPositions += f.Count()
	case iceberggo.EntryContentEqDeletes:
		t.removedEqualityDeletes++
		t.removedEqualities += f.Count()
	}
	t.removedDeletes++
}

// properties are the summary's counters, and its totals after those of before.
func (t *snapshotTotals) properties(before iceberggo.Properties) iceberggo.Properties {
	p := iceberggo.Properties{}
	for key, n := range map[string]int64{
		"added-data-files": t.addedData, "deleted-data-files": t.removedData,
		"added-delete-files": t.addedDeletes, "removed-delete-files": t.removedDeletes,
		"added-position-delete-files": t.addedPositionFiles, "removed-position-delete-files": t.removedPositionFiles,
		"removed-equality-delete-files": t.removedEqualityDeletes,
		"added-records":                 t.addedRecords, "deleted-records": t.removedRecords,
		"added-position-deletes": t.addedPositions, "removed-position-deletes": t.removedPositions,
		"removed-equality-deletes": t.removedEqualities,
		"added-files-size":         t.addedBytes, "removed-files-size": t.removedBytes,
	} {
		if n != 0 {
			p[key] = strconv.FormatInt(n, 10)
		}
	}
	for key, delta := range map[string]int64{
		"total-data-files": t.addedData - t.removedData, "total-delete-files": t.addedDeletes - t.removedDeletes,
		"total-records": t.addedRecords - t.removedRecords, "total-files-size": t.addedBytes - t.removedBytes,
		"total-position-deletes": t.addedPositions - t.removedPositions, "total-equality-deletes": -t.removedEqualities,
	} {
		was, err := strconv.ParseInt(before[key], 10, 64)
		if err != nil && before != nil {
			continue // unknown before, unknown after
		}
		p[key] = strconv.FormatInt(was+delta, 10)
	}
	return p
}
