package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/window"
)

// relation is one version of a table as the log announced it. It is immutable.
type relation struct {
	oid   uint32
	raw   []byte        // the message
	table *schema.Table // nil for a table that is not captured
	keys  []int         // columns of the key
	isKey []bool
	// partitioned: the rows are those of partitions.
	partitioned bool
	// full: the old row of an update or delete is complete.
	full           bool
	wantBefore     bool
	sinkResolves   bool
	keylessUpdates bool
	wantOrigin     bool
	settled        *atomic.Bool
	events         bool // the sink writes down what has not come as such, also of a key change
}

// relationResolver keeps the definitions that are in force at the position of
// the reading goroutine, which alone uses it.
type relationResolver struct {
	cfg     *config
	settled *settled
	needs   source.Needs
	conn    *pgx.Conn // opened when it is needed
	writer  uint32    // the transaction whose change is looked up, 0 for none
	tables  map[uint32]*schema.Table
	names   map[schema.TableID]uint32
	// partitioned are captured tables whose rows lie in partitions; partial those
	// of them whose partitions do not all log the full old row.
	partitioned, partial map[uint32]bool
	// insertOnly are published without updates and deletes.
	insertOnly map[uint32]bool
	// leaves are the known partitions; look asks for a look at the catalogue.
	leaves map[uint32]bool
	look   func()
	// below says whether a relation is a partition of a table.
	below func(m relationMessage, t *schema.Table) (bool, error)
	// known is what the newest look at the catalogue saw, checked the same for single tables.
	known   window.Snapshot
	checked map[uint32]window.Snapshot
	// changed is the transaction by which the log last changed a table: what a look at the
	// catalogue that did not see it says of the table is old. Its commit may be in the log
	// long before it is visible, so positions don't tell.
	changed map[uint32]uint32
}

func newRelationResolver(a *attachment, tables []*schema.Table, needs source.Needs) *relationResolver {
	if a.settled == nil {
		a.settled = &settled{}
	}
	r := &relationResolver{cfg: a.cfg, settled: a.settled, needs: needs, tables: map[uint32]*schema.Table{}, names: map[schema.TableID]uint32{},
		partitioned: map[uint32]bool{}, partial: map[uint32]bool{}, insertOnly: map[uint32]bool{}, leaves: map[uint32]bool{}, known: a.Known, checked: map[uint32]window.Snapshot{}, changed: map[uint32]uint32{}}
	r.below = r.isBelow
	for _, t := range tables {
		r.tables[uint32(t.SourceID)] = t
		r.names[t.ID] = uint32(t.SourceID)
	}
	for _, i := range a.infos {
		r.describe(uint32(i.Schema.SourceID), &i)
	}
	return r
}

// describe notes what the catalogue has of a table beside its columns.
func (r *relationResolver) describe(oid uint32, i *tableInfo) {
	r.partitioned[oid] = i.Kind == 'p'
	r.partial[oid] = i.Kind == 'p' && (i.Identity != 'f' || r.partial[oid])
	r.insertOnly[oid] = i.InsertOnly
	if i.Kind == 'p' {
		for _, l := range i.Leaves {
			r.leaves[l.OID] = true
		}
	}
}

// close ends the connection.
func (r *relationResolver) close() {
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = r.conn.Close(ctx)
		r.conn = nil
	}
}

// resolve returns the relation of a message that has not been seen in this form,
// and the schema changes that lead from the definition in force to it.
func (r *relationResolver) resolve(m relationMessage, tx transaction) (*relation, []*schema.Change, error) {
	table, captured := r.tables[m.oid]
	id := r.cfg.tableID(m.schema, m.name)
	if !captured {
		if _, known := r.names[id]; known {
			return nil, nil, tableRemade(id, tx.commit)
		}
		return &relation{oid: m.oid}, nil, nil
	}
	if id != table.ID {
		return nil, nil, &SchemaChangeError{Table: table.ID, Position: tx.commit, What: "the table was renamed to " + id.String(),
			Hint: "rename it back, or start a new pipeline for the new name"}
	}
	var changes []*schema.Change
	if !sameDefinition(table, m) {
		var err error
		r.writer = tx.xid
		changes, err = r.changes(table, m, tx.commit)
		r.writer = 0
		if err != nil {
			return nil, nil, err
		}
		if len(changes) > 0 {
			table = changes[len(changes)-1].After
			r.tables[m.oid] = table
		}
	}
	if r.recheck(m.oid, tx) {
		widened, err := r.widen(table, tx)
		if err != nil {
			return nil, nil, err
		}
		if widened != nil {
			changes, table = append(changes, widened), widened.After
			r.tables[m.oid] = table
		}
	}
	if len(changes) > 0 {
		r.changed[m.oid] = tx.xid
	}
	return r.relation(m, table), changes, nil
}

func (r *relationResolver) relation(m relationMessage, t *schema.Table) *relation {
	rel := &relation{oid: m.oid, table: t, keys: t.KeyIndexes(), isKey: make([]bool, len(t.Columns)), partitioned: r.partitioned[m.oid]}
	for _, i := range rel.keys {
		rel.isKey[i] = true
	}
	// The catalogue was read at the start; where the identity was made FULL since,
	// a table without partitions is taken at the message's word.
	rel.full = m.identity == 'f' && !r.partial[m.oid]
	rel.keylessUpdates = r.needs.KeylessUpdates && rel.full
	rel.wantBefore = rel.full && (r.needs.Before || !t.HasKey())
	rel.sinkResolves = r.needs.ResolvesUnchanged && t.OmitsUnchanged
	rel.wantOrigin, rel.events, rel.settled = r.needs.Origin, r.needs.Events, r.settled.of(t)
	return rel
}

// truncated returns a change for each captured table among oids.
func (r *relationResolver) truncated(oids []uint32, tx transaction) []*schema.Change {
	var out []*schema.Change
	for _, oid := range oids {
		if t := r.tables[oid]; t != nil {
			out = append(out, &schema.Change{Kind: schema.ChangeTruncate, Table: t.ID, Before: t, After: t, Position: tx.commit})
		}
	}
	return out
}

// sameDefinition reports whether m announces what t is already.
func sameDefinition(t *schema.Table, m relationMessage) bool {
	if len(t.Columns) != len(m.columns) {
		return false
	}
	for i, c := range m.columns {
		have := t.Columns[i]
		if have.Name != c.name || have.Source.OID != c.oid || have.Source.Modifier != c.mod {
			return false
		}
	}
	return sameKey(t.PrimaryKey, m)
}

// sameKey compares a key with the columns that a message marks. With FULL all
// columns are marked, with NOTHING none.
func sameKey(key []string, m relationMessage) bool {
	if m.identity == 'f' || m.identity == 'n' {
		return true
	}
	n := 0
	for _, c := range m.columns {
		if c.key {
			if n++; !slices.Contains(key, c.name) {
				return false
			}
		}
	}
	// A table that is published for INSERT alone may have a key that is no identity.
	return n == len(key) || n == 0
}

// changes compares the definition in force with the message, with the help of the
// catalogue, which may be ahead of the log.
func (r *relationResolver) changes(t *schema.Table, m relationMessage, pos uint64) (changes []*schema.Change, err error) {
	err = r.ask(t, func(ctx context.Context, conn *pgx.Conn) error {
		if _, _, err := awaitVisible(ctx, conn, r.writer); err != nil {
			return err
		}
		attributes, types, err := r.lookUp(ctx, conn, m)
		if err != nil {
			return err
		}
		changes, err = diffTable(t, m, attributes, types, r.cfg.text, r.needs.Events, pos)
		return err
	})
	return changes, err
}

// awaitVisible waits until a transaction that the log has shown is visible, and
// returns whether it is, and what is: its commit is in the log a moment before, and the
// catalogue would lack what it did. Behind a slow standby that takes long; then the
// catalogue is asked as it is.
func awaitVisible(ctx context.Context, conn *pgx.Conn, xid uint32) (visible bool, s window.Snapshot, err error) {
	const patience, pause = 10 * time.Second, 2 * time.Millisecond
	for begun := time.Now(); ; time.Sleep(pause) {
		if s, err = visibleNow(ctx, conn); err != nil {
			return false, s, err
		}
		if visible = xid == 0 || sees(s, xid); visible || time.Since(begun) >= patience {
			return visible, s, nil
		}
	}
}

// sees reports whether a transaction of the log is visible in s.
func sees(s window.Snapshot, xid uint32) bool { return s.Sees(window.FullXID(xid, s.Xmax)) }

// ask lets fn ask the catalogue about a table.
func (r *relationResolver) ask(t *schema.Table, fn func(context.Context, *pgx.Conn) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if r.conn == nil || r.conn.IsClosed() {
		if r.conn, err = r.cfg.connect(ctx); err != nil {
			return fmt.Errorf("look up the changed table %s: %w", t.ID, err)
		}
	}
	if err = fn(ctx, r.conn); err != nil {
		var known *SchemaChangeError
		if errors.As(err, &known) {
			return err
		}
		return fmt.Errorf("look up the changed table %s: %w", t.ID, err)
	}
	return nil
}

func (r *relationResolver) lookUp(ctx context.Context, conn *pgx.Conn, m relationMessage) ([]attribute, typeCatalog, error) {
	definitions, err := readColumns(ctx, conn, []uint32{m.oid}, r.cfg)
	if err != nil {
		return nil, nil, err
	}
	types := typeCatalog{}
	oids := make([]uint32, len(m.columns))
	for i, c := range m.columns {
		oids[i] = c.oid
	}
	if err := types.load(ctx, conn, oids); err != nil {
		return nil, nil, err
	}
	if d := definitions[m.oid]; d != nil {
		return d.attributes, types, nil
	}
	return nil, types, nil // dropped by now
}
