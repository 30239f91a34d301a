package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/window"
)

// stateVersion is the version of readerState that this program writes.
const stateVersion = 1

// readerState is what a checkpoint holds of a reader, as JSON.
type readerState struct {
	Version int `json:"version"`
	// Server identifies the server, see server.identity; Files say how its places
	// become positions.
	Server string       `json:"server"`
	Files  binlog.Files `json:"files"`
	// GTIDs are the transactions that the log holds up to the position.
	ByGTID bool            `json:"byGTID"`
	GTIDs  *binlog.GTIDSet `json:"gtids"`
	// Prepared are XA transactions that are prepared and not decided.
	Prepared []*binlog.Prepared `json:"prepared,omitempty"`
	// DecidedXA: see reader.
	DecidedXA uint64               `json:"decidedXA,omitempty"`
	Windows   window.State         `json:"windows"`
	Tables    []savedTable         `json:"tables"`
	NextSlot  uint32               `json:"nextSlot"`
	Retained  []retainedCheckpoint `json:"retained"`
	// Catalog holds the definitions in force at the position, of all tables of the
	// captured databases.
	Catalog json.RawMessage  `json:"catalog"`
	Created []schema.TableID `json:"created,omitempty"`
	// Guessed: see reader.
	Guessed uint64 `json:"guessed,omitempty"`
}

// savedTable is the part of one table.
type savedTable struct {
	Def     json.RawMessage `json:"def"` // the definition in force at the position
	Slot    uint32          `json:"slot,omitempty"`
	Plan    *snapshot.Plan  `json:"plan,omitempty"`
	Rows    int64           `json:"rows,omitempty"`
	Dropped bool            `json:"dropped,omitempty"`
}

// retainedCheckpoint says where a checkpoint lies that may still be restored.
type retainedCheckpoint struct {
	ID       int64  `json:"id"`
	Position uint64 `json:"position"`
}

// savedCatalog is a catalogue with its JSON form, made once for each.
type savedCatalog struct {
	of   *ddl.Catalog
	json []byte
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
	s := readerState{Version: stateVersion, Server: r.server.identity(), Files: r.files, ByGTID: r.byGTID, GTIDs: r.gtids,
		Prepared: r.prepared, DecidedXA: r.decidedXA, Windows: r.core.State(), NextSlot: r.nextSlot, Created: r.created, Guessed: r.guessed}
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
	if r.saved.of != r.catalog {
		data, err := json.Marshal(r.catalog)
		if err != nil {
			return nil, fmt.Errorf("saving the table definitions: %w", err)
		}
		r.saved = savedCatalog{r.catalog, data}
	}
	s.Catalog = r.saved.json
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
	out := savedTable{Def: t.saved, Slot: t.slot, Rows: t.rows, Dropped: t.dropped}
	if t.plan == nil || !t.win.Keyed() || r.core.Position() < t.emptyUntil {
		return out, nil
	}
	out.Plan = t.plan.Clone()
	for id, rg := range r.open { // nothing of them has entered
		if r.owner[id] == t {
			out.Plan.Back(rg)
		}
	}
	return out, nil
}

// restored is a decoded state.
type restored struct {
	readerState
	catalog *ddl.Catalog
	defs    []*schema.Table
}

// decodeState reads what state returned.
func decodeState(data []byte, o ddl.Options) (*restored, error) {
	s := restored{readerState: readerState{GTIDs: &binlog.GTIDSet{}}}
	if err := json.Unmarshal(data, &s.readerState); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if s.Version != stateVersion {
		return nil, withHint(fmt.Errorf("%w: it has version %d", ErrState, s.Version), "use the version of freshet that wrote it")
	}
	var err error
	if s.catalog, err = ddl.Restore(s.Catalog, o); err != nil {
		return nil, fmt.Errorf("%w: table definitions: %w", ErrState, err)
	}
	s.defs = make([]*schema.Table, len(s.Tables))
	for i, t := range s.Tables {
		s.defs[i] = new(schema.Table)
		if err := json.Unmarshal(t.Def, s.defs[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrState, err)
		}
	}
	if len(s.Windows.Tables) != len(s.Tables) {
		return nil, fmt.Errorf("%w: %d tables, %d windows", ErrState, len(s.Tables), len(s.Windows.Tables))
	}
	return &s, nil
}

// CheckpointComplete implements source.Reader. The server keeps its binlog by its
// own rules, so nothing is released.
func (r *reader) CheckpointComplete(id, oldest int64) {
	s := &r.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.retained {
		if c.ID == id {
			s.progress.Committed = max(s.progress.Committed, c.Position)
		}
	}
	s.retained = slices.DeleteFunc(s.retained, func(c retainedCheckpoint) bool { return c.ID < oldest })
}

// ErrState is returned for a checkpointed state that this version can't read.
var ErrState = errors.New("the source's state in the checkpoint can't be read")
