package postgres

import (
	"slices"

	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// Progress implements source.Reader.
func (r *reader) Progress() source.Progress {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	p := r.shared.progress
	p.Tables = slices.Clone(p.Tables)
	if r.shared.log != nil {
		p.Server = max(p.Server, r.shared.log.Server())
	}
	p.Server = max(p.Server, p.Position)
	p.LagBytes = int64(p.Server - p.Position)
	if p.LagBytes > 0 && r.shared.commit != 0 {
		p.LagTime = microsAgo(r.shared.commit)
	}
	p.RetainedBytes = -1
	if p.Committed != 0 && p.Server >= p.Committed {
		p.RetainedBytes = int64(p.Server - p.Committed)
	}
	return p
}

// progressTable keeps what Progress shows of a table's snapshot.
func (r *reader) progressTable(t *tableState) {
	tp := source.TableProgress{Table: t.def.ID, Rows: t.rows, Chunks: t.chunksTotal, Done: t.chunksTotal, Snapshotting: t.win.Phase() != window.Done || t.reread != nil}
	if t.plan != nil {
		tp.Chunks, tp.Done = t.plan.chunks(), t.plan.Done
		tp.Chunks = max(tp.Chunks, tp.Done)
	}
	done := r.core.Idle() && r.rereading == 0
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	p := &r.shared.progress
	p.SnapshotDone = done
	i := slices.IndexFunc(p.Tables, func(o source.TableProgress) bool { return o.Table == tp.Table })
	if i < 0 {
		p.Tables = append(p.Tables, tp)
	} else {
		p.Tables[i] = tp
	}
}
