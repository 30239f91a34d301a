package mysql

import (
	"slices"

	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// Progress implements source.Reader. The lag in bytes is as old as the last
// question to the server, a second, and no more than exact within one file.
func (r *reader) Progress() source.Progress {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	p := r.shared.progress
	p.Tables = slices.Clone(p.Tables)
	if r.shared.log != nil {
		p.Server = max(p.Server, r.shared.log.Server())
	}
	p.Server = max(p.Server, p.Position)
	const offset = 1<<40 - 1
	switch {
	case p.Position>>40 == p.Server>>40:
		p.LagBytes = int64(p.Server&offset) - int64(p.Position&offset)
	case r.shared.lagFrom>>40 == p.Position>>40:
		p.LagBytes = max(0, r.shared.lag-int64(p.Position-r.shared.lagFrom))
	default:
		p.LagBytes = r.shared.lag
	}
	if p.Server > p.Position && r.shared.commit != 0 {
		p.LagTime = microsAgo(r.shared.commit)
	}
	p.RetainedBytes = -1
	return p
}

// progressTable keeps what Progress shows of a table's snapshot.
func (r *reader) progressTable(t *tableState) {
	tp := source.TableProgress{Table: t.def.ID, Rows: t.rows, Snapshotting: t.win.Phase() != window.Done}
	if t.plan != nil {
		tp.Chunks, tp.Done = t.plan.Chunks(), t.plan.Done
	}
	done := r.core.Idle()
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	p := &r.shared.progress
	p.SnapshotDone = done
	i := slices.IndexFunc(p.Tables, func(o source.TableProgress) bool { return o.Table == tp.Table })
	switch {
	case i < 0:
		p.Tables = append(p.Tables, tp)
	case t.plan == nil: // the numbers of chunks stay
		p.Tables[i].Rows, p.Tables[i].Snapshotting = tp.Rows, tp.Snapshotting
	default:
		p.Tables[i] = tp
	}
}
