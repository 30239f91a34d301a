package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/window"
)

// stateVersion is the version of readerState that this program writes.
const stateVersion = 1

// ErrState is returned for a checkpointed state that this version can't read.
var ErrState = errors.New("the source's state in the checkpoint can't be read")

// readerState is what a checkpoint holds of a reader, as JSON.
type readerState struct {
	Version  int                  `json:"version"`
	Windows  window.State         `json:"windows"`
	Tables   []savedTable         `json:"tables"`
	NextSlot uint32               `json:"nextSlot"`
	Retained []retainedCheckpoint `json:"retained"`
	// History and Commit complete the position; see checkpointPlace.
	History history `json:"history"`
	Commit  uint64  `json:"commit"`
}

// savedTable is the part of one table.
type savedTable struct {
	Def         json.RawMessage `json:"def"` // the definition in force at the position
	Slot        uint32          `json:"slot,omitempty"`
	Plan        *plan           `json:"plan,omitempty"`
	Rows        int64           `json:"rows,omitempty"`
	ChunksTotal int             `json:"chunks,omitempty"`
	Tree        json.RawMessage `json:"tree,omitempty"` // a leafTree
	// Reread, where it is not empty, is why the table is going to be read again.
	Reread string `json:"reread,omitempty"`
}

// retainedCheckpoint says where a checkpoint lies that may still be restored.
type retainedCheckpoint struct {
	ID       int64  `json:"id"`
	Position uint64 `json:"position"`
}

// barrier ends a checkpoint.
func (r *reader) barrier(ctx context.Context, id int64) error {
	position := r.core.Position()
	r.shared.mu.Lock()
	r.shared.retained = append(r.shared.retained, retainedCheckpoint{id, position})
	r.shared.mu.Unlock()
	state, err := r.state()
	if err != nil {
		return err
	}
	return r.out.Barrier(ctx, id, position, state)
}

// state returns the state at this point of the log.
func (r *reader) state() ([]byte, error) {
	s := readerState{Version: stateVersion, Windows: r.core.State(), NextSlot: r.nextSlot, History: r.history, Commit: r.commit}
	for _, win := range r.core.Tables() {
		t := r.tables[win.ID]
		if t.seen != nil {
			if err := t.seen.Flush(); err != nil {
				return nil, wrapTable(t, err)
			}
		}
		saved, err := r.saveTable(t)
		if err != nil {
			return nil, err
		}
		s.Tables = append(s.Tables, saved)
	}
	r.shared.mu.Lock()
	s.Retained = slices.Clone(r.shared.retained)
	r.shared.mu.Unlock()
	return json.Marshal(s)
}

func (r *reader) saveTable(t *tableState) (savedTable, error) {
	if t.saved == nil {
		var err error
		if t.saved, err = json.Marshal(t.def); err != nil {
			return savedTable{}, wrapTable(t, err)
		}
	}
	if t.tree != nil && t.savedTree == nil {
		var err error
		if t.savedTree, err = json.Marshal(t.tree); err != nil {
			return savedTable{}, wrapTable(t, err)
		}
	}
	out := savedTable{Def: t.saved, Slot: t.slot, Rows: t.rows, ChunksTotal: t.chunksTotal, Tree: t.savedTree}
	if t.reread != nil {
		out.Reread = t.reread.why
	}
	if t.plan == nil || !t.win.Keyed() {
		return out, nil
	}
	p := plan{Leaves: slices.Clone(t.plan.Leaves), Again: slices.Clone(t.plan.Again), Done: t.plan.Done}
	for id, rg := range r.open { // nothing of them has entered
		if r.owner[id] == t {
			p.Again = append(p.Again, rg)
		}
	}
	out.Plan = &p
	return out, nil
}

// decodeState reads what state returned.
func decodeState(data []byte) (*readerState, []*schema.Table, error) {
	var s readerState
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if s.Version != stateVersion {
		return nil, nil, withHint(fmt.Errorf("%w: it has version %d", ErrState, s.Version), "use the version of freshet that wrote it")
	}
	defs := make([]*schema.Table, len(s.Tables))
	for i, t := range s.Tables {
		defs[i] = new(schema.Table)
		if err := json.Unmarshal(t.Def, defs[i]); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrState, err)
		}
	}
	if len(s.Windows.Tables) != len(s.Tables) {
		return nil, nil, fmt.Errorf("%w: %d tables, %d windows", ErrState, len(s.Tables), len(s.Windows.Tables))
	}
	return &s, defs, nil
}

// CheckpointComplete implements source.Reader.
func (r *reader) CheckpointComplete(id, oldest int64) {
	s := &r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	var release uint64
	for _, c := range s.retained {
		switch c.ID {
		case id:
			s.progress.Committed = max(s.progress.Committed, c.Position)
		}
		if c.ID == oldest {
			release = c.Position
		}
	}
	s.retained = slices.DeleteFunc(s.retained, func(c retainedCheckpoint) bool { return c.ID < oldest })
	if release != 0 && s.log != nil {
		s.log.Confirm(release)
	}
}
