package ddl

import (
	"fmt"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// moved is what stands behind a name while the renamings of a statement are followed.
type moved struct {
	d *Definition // nil: no table that is known
	// from is the name that the table had before the statement.
	from schema.TableID
	// unseen: there is a table, but the catalogue never had it.
	unseen bool
}

// renaming follows the renamings of one statement, name by name.
type renaming struct {
	names  []schema.TableID // in the order in which they are mentioned
	before map[schema.TableID]*Definition
	after  map[schema.TableID]moved
}

// renameTables follows RENAME TABLE. What counts is the table that each name has
// before and behind the whole statement.
func (e *edit) renameTables(renames []syntax.Rename, ifExists bool) {
	r := &renaming{before: map[schema.TableID]*Definition{}, after: map[schema.TableID]moved{}}
	for _, n := range renames {
		from, to := e.id(n.From), e.id(n.To)
		if e.isTemporary(from) {
			e.setTemporary(from, false)
			e.setTemporary(to, true)
			continue
		}
		e.mention(r, from)
		e.mention(r, to)
		m := r.after[from]
		if m.d == nil && !m.unseen {
			if ifExists && e.complete(from.Schema) {
				continue
			}
			m = moved{from: from, unseen: true}
		}
		r.after[from], r.after[to] = moved{}, m
	}
	e.settle(r)
}

func (e *edit) mention(r *renaming, id schema.TableID) {
	if !slices.Contains(r.names, id) {
		d := e.get(id)
		r.names = append(r.names, id)
		r.before[id], r.after[id] = d, moved{d: d, from: id}
	}
}

// settle enters the outcome and tells of it.
func (e *edit) settle(r *renaming) {
	for _, id := range r.names {
		if r.after[id].d == nil && r.before[id] != nil {
			e.remove(id)
		}
	}
	for _, id := range r.names {
		was, m := r.before[id], r.after[id]
		switch {
		case m.unseen && (was != nil || e.held(id.Schema)):
			e.lose(id, was, fmt.Sprintf("it was table %s, whose definition is not known", m.from), true)
		case m.d == was:
		case m.d == nil:
			e.gone(r, id, was)
		case was != nil:
			e.replaced(r, id, was, m)
		case r.after[m.from].d != nil || r.after[m.from].unseen:
			e.appeared(id, m)
		}
	}
}

// gone is a name whose table has another one now.
func (e *edit) gone(r *renaming, id schema.TableID, was *Definition) {
	for _, to := range r.names {
		if r.after[to].d != was {
			continue
		}
		f := Effect{Table: id, Kind: Rename, NewID: to, Before: was.table}
		if r.before[to] != nil {
			f.Kind, f.What = Drop, fmt.Sprintf("it took the place of table %s", to)
			e.emit(f)
			return
		}
		d := was.clone()
		d.ID = to
		e.set(d.finish(e.o))
		f.After = d.table
		e.emit(f)
		if d.Lost != "" {
			e.lose(to, d, d.Lost, false)
		}
		return
	}
}

// appeared is a new name whose table came from one that has another table now.
func (e *edit) appeared(id schema.TableID, m moved) {
	d := m.d.clone()
	// The name that it left goes on with its number.
	d.ID, d.Like, d.LikeOrdinal, d.Number = id, m.d.Number, m.d.LastOrdinal, e.nextNumber()
	e.set(d.finish(e.o))
	e.created(d, Effect{From: m.from, RewritesRows: true, What: fmt.Sprintf("it is what was table %s, with its rows", m.from)})
}

// replaced is a name that has another table now. It goes on as the same table with
// another definition; with the same rows if the other one was made to take its place.
func (e *edit) replaced(r *renaming, id schema.TableID, was *Definition, m moved) {
	if was.Lost != "" || m.d.Lost != "" {
		e.lose(id, was, fmt.Sprintf("its place was taken by table %s, and one of the definitions is not known", m.from), true)
		return
	}
	next := continued(was, m.d)
	f := Effect{Table: id, Kind: Alter, From: m.from}
	reasons := e.evolve(&f, was, next, conversionRules{})
	if isShadow(id, m.from) {
		reasons = append(reasons, shadowReasons(f.Changes, was, m.d, next)...)
	} else {
		reasons = append([]string{fmt.Sprintf("the rows are those of what was table %s", m.from)}, reasons...)
	}
	e.set(next)
	f.RewritesRows, f.What = len(reasons) > 0, joinReasons(reasons)
	e.emit(f)
}
