package iceberg

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// writerState is the operator state of a writer; it holds nothing of keys or rows.
type writerState struct {
	Format int           `json:"format"`
	Epochs []epochRecord `json:"epochs"`
	Tables []tableState  `json:"tables"`
}

const writerStateFormat = 1

// tableState is what a writer knows of a table. All writers of a checkpoint agree
// on it, since changes reach all of them in the same order; only Fresh may differ.
type tableState struct {
	Target schema.TableID `json:"target"`
	// Number stands for the table in keyed state.
	Number uint32        `json:"number"`
	Schema *stagedSchema `json:"schema"`
	// Indexed: the key index knows the table's rows.
	Indexed bool `json:"indexed,omitempty"`
	// Snapshotting: between the start and the end of the table's snapshot.
	Snapshotting bool `json:"snapshotting,omitempty"`
	// Fresh: the index was empty when the snapshot started.
	Fresh bool `json:"fresh,omitempty"`
	// Staged: nothing may be shown before the snapshot is done.
	Staged bool `json:"staged,omitempty"`
}

// snapshot encodes the writer's state.
func (w *writer) snapshot() ([]byte, error) {
	s := writerState{Format: writerStateFormat}
	for _, e := range w.registry.epochs {
		s.Epochs = append(s.Epochs, e)
	}
	slices.SortFunc(s.Epochs, func(a, b epochRecord) int { return int(int64(a.Epoch) - int64(b.Epoch)) })
	for _, t := range w.order {
		s.Tables = append(s.Tables, tableState{
			Target: t.target, Number: t.number, Schema: t.layout.staged,
			Indexed: t.indexed, Snapshotting: t.snapshotting, Fresh: t.fresh, Staged: t.staged,
		})
	}
	return json.Marshal(s)
}

// restore takes in the states of all writers of a checkpoint and returns the
// first epoch that none of them has used.
func (w *writer) restore(blobs [][]byte) (base uint32, err error) {
	for i, blob := range blobs {
		if len(blob) == 0 {
			continue
		}
		var s writerState
		if err := json.Unmarshal(blob, &s); err != nil {
			return 0, fmt.Errorf("iceberg: state of writer %d: %w", i, err)
		}
		if s.Format != writerStateFormat {
			return 0, fmt.Errorf("iceberg: the state of writer %d has format %d, this version reads %d", i, s.Format, writerStateFormat)
		}
		for _, e := range s.Epochs {
			w.registry.epochs[e.Epoch] = e
			base = max(base, e.Epoch+1)
		}
		for _, ts := range s.Tables {
			if err := w.restoreTable(ts); err != nil {
				return 0, err
			}
		}
	}
	return base, nil
}

func (w *writer) restoreTable(ts tableState) error {
	if t, ok := w.tables[ts.Target]; ok {
		if t.number != ts.Number {
			return fmt.Errorf("iceberg: the writers' states number table %s %d and %d: the checkpoint is damaged", ts.Target, t.number, ts.Number)
		}
		t.fresh = t.fresh && ts.Fresh
		return nil
	}
	if ts.Schema == nil {
		return fmt.Errorf("iceberg: the writers' state has no schema for table %s: the checkpoint is damaged", ts.Target)
	}
	return w.addTable(&tableWriter{
		target: ts.Target, number: ts.Number, layout: &layout{staged: ts.Schema},
		indexed: ts.Indexed, snapshotting: ts.Snapshotting, fresh: ts.Fresh, staged: ts.Staged,
	})
}
