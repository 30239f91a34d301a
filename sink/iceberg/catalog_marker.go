package iceberg

import (
	"fmt"
	"strconv"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// The marker: keys of table properties and, the same, of snapshot summaries. The
// property is there in one look and survives the expiry of snapshots; the
// summaries say which checkpoint each snapshot belongs to.
const (
	markerPrefix     = "freshet."
	markerLineage    = markerPrefix + "lineage"
	markerPipeline   = markerPrefix + "pipeline"
	markerCheckpoint = markerPrefix + "checkpoint-id"
	markerStep       = markerPrefix + "step"
	markerPosition   = markerPrefix + "position"
	// markerCreated is a table property alone: the sink made the table, so it may
	// also take it away when it rolls back to a checkpoint before that.
	markerCreated = markerPrefix + "created"
)

// marker says up to where a table holds a pipeline's changes. Checkpoint 0 is a
// table that has just been created.
type marker struct {
	Lineage, Pipeline string
	Checkpoint        int64
	// Position is the log position of the checkpoint.
	Position uint64
}

// properties are those of the table and of the snapshot. All of a checkpoint is
// one step: see [snapshotBuilder].
func (m marker) properties() iceberggo.Properties {
	return iceberggo.Properties{
		markerLineage:    m.Lineage,
		markerPipeline:   m.Pipeline,
		markerCheckpoint: strconv.FormatInt(m.Checkpoint, 10),
		markerStep:       "0",
		markerPosition:   strconv.FormatUint(m.Position, 10),
	}
}

// markerIn reads the marker of a table's properties or a snapshot's summary; ok is
// false where there is none.
func markerIn(p iceberggo.Properties) (m marker, ok bool, err error) {
	m.Lineage, ok = p[markerLineage]
	if !ok {
		return marker{}, false, nil
	}
	m.Pipeline = p[markerPipeline]
	if m.Checkpoint, err = strconv.ParseInt(p[markerCheckpoint], 10, 64); err == nil {
		m.Position, err = strconv.ParseUint(p[markerPosition], 10, 64)
	}
	if err != nil {
		return marker{}, true, fmt.Errorf("the marker %s... in its properties is damaged: %w", markerPrefix, err)
	}
	return m, true, nil
}

// snapshotMarker reads the marker of a snapshot.
func snapshotMarker(s *table.Snapshot) (marker, bool) {
	if s == nil || s.Summary == nil {
		return marker{}, false
	}
	m, ok, err := markerIn(s.Summary.Properties)
	return m, ok && err == nil
}

// tableMarker reads the marker of a table: the property, or where someone took
// that away, the newest snapshot that has one.
func tableMarker(meta table.Metadata) (marker, bool, error) {
	m, ok, err := markerIn(meta.Properties())
	if ok || err != nil {
		return m, ok, err
	}
	for _, s := range ancestors(meta) {
		if m, ok := snapshotMarker(&s); ok {
			return m, true, nil
		}
	}
	return marker{}, false, nil
}

// ancestors returns the snapshots of the main branch, newest first, as far back
// as the metadata goes.
func ancestors(meta table.Metadata) []table.Snapshot {
	head := meta.CurrentSnapshot()
	if head == nil {
		return nil
	}
	return table.AncestorsOf(head.SnapshotID, meta.SnapshotByID)
}
