package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// An XA transaction may be prepared before the pipeline begins and committed after. Its rows
// are in the binlog where it was prepared, so that part is read for them at the start; as
// rows of the transaction that commits it they then go out like all others. One that was
// committed between the place where the pipeline begins and the look at the list of prepared
// ones is left out: every snapshot begins later, and shows it.

var (
	// xaPatience is how long a prepared transaction is waited for whose rows are gone.
	xaPatience = 30 * time.Second
	// maxXASearch bounds how much binlog is read for one.
	maxXASearch uint64 = 16 << 30
)

// errXARecover is how MySQL says that the account may not list prepared transactions.
const errXARecover = 1401

const (
	xaPrivilege = "GRANT XA_RECOVER_ADMIN ON *.* TO the account"
	xaDecide    = "end it with XA COMMIT or XA ROLLBACK, and start again"
)

// listXA returns the names of the transactions that are prepared and not decided, as
// binlog.XAName prints them. allowed is false where the account may not ask.
func listXA(ctx context.Context, conn *wire.Conn) (names []string, allowed bool, err error) {
	r, err := conn.Query(ctx, "XA RECOVER")
	if wire.Code(err) == errXARecover {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list the prepared XA transactions: %w", err)
	}
	for _, row := range r.Rows {
		var n [3]int64
		for i := range n {
			if n[i], err = row[i].Int(); err != nil {
				return nil, false, fmt.Errorf("list the prepared XA transactions: %w", err)
			}
		}
		data := []byte(row[3].String())
		if n[1] < 0 || n[2] < 0 || n[1]+n[2] > int64(len(data)) {
			return nil, false, fmt.Errorf("%w: XA RECOVER has a name of %d bytes, not %d and %d", wire.ErrProtocol, len(data), n[1], n[2])
		}
		names = append(names, binlog.XAName(event.XAID{FormatID: int32(n[0]), Global: data[:n[1]], Branch: data[n[1] : n[1]+n[2]]}))
	}
	slices.Sort(names)
	return names, true, nil
}

// beginXA finds the transactions that are prepared before the place where the pipeline
// begins. again says that it must begin at a later place, since one was committed behind
// this one whose rows nobody has.
func (r *reader) beginXA(ctx context.Context, conn *wire.Conn, place binlog.Place) (again bool, err error) {
	if !r.cfg.snapshotsAtStart() && r.cfg.mode != modeLatest {
		return false, nil // what is prepared now tells nothing of the past
	}
	names, allowed, err := listXA(ctx, conn)
	if err != nil {
		return false, err
	}
	if !allowed {
		r.logger.Info("the account may not list prepared XA transactions; one that is prepared now and committed later ends the pipeline with an error: " + xaPrivilege)
		return false, nil
	}
	decided, err := r.endOfLog(ctx, conn)
	if err != nil {
		return false, err
	}
	found, missing, err := r.searchXA(ctx, conn, names, r.files.Place(decided), true)
	if err != nil {
		return false, err
	}
	if len(missing) > 0 {
		if err := r.awaitXA(ctx, conn, missing); err != nil {
			return false, err
		}
		if !r.cfg.snapshotsAtStart() {
			return true, nil
		}
		if decided, err = r.endOfLog(ctx, conn); err != nil {
			return false, err
		}
	}
	start, err := r.files.Position(place)
	if err != nil {
		return false, err
	}
	r.prepared = slices.DeleteFunc(found, func(p *binlog.Prepared) bool { return p.Start >= start }) // the log has these
	for _, p := range r.prepared {
		r.logger.Info("an XA transaction is prepared; its changes are kept until it is decided", "XA", p.ID, "begins", r.format(p.Start), "bytes", p.Size)
	}
	if r.cfg.snapshotsAtStart() {
		r.decidedXA = decided
	}
	return false, nil
}

// searchXA reads the binlog up to a place for prepared transactions, from its newest
// files to older ones, until all are found. Those that are missing have changed nothing
// where all of the binlog is there and empty says that they may be so.
func (r *reader) searchXA(ctx context.Context, conn *wire.Conn, names []string, until binlog.Place, empty bool) (found []*binlog.Prepared, missing []string, err error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	files, err := logFiles(ctx, conn)
	if err != nil {
		return nil, nil, err
	}
	r.logger.Info("the binlog is looked through for the changes of prepared XA transactions", "XA", strings.Join(names, "; "), "up to", until.String())
	last := slices.IndexFunc(files, func(f logFile) bool { return f.name == until.File })
	if last < 0 {
		return nil, nil, purged(until.String(), files[0].name, keepLonger)
	}
	for first, read := last, uint64(0); ; first = max(0, 2*first-last-1) {
		for _, f := range files[first : last+1] {
			read += f.size
		}
		if read > maxXASearch && first < last {
			return found, missing, nil
		}
		if found, err = r.gatherXA(ctx, files[first].name, until); err != nil {
			return nil, nil, err
		}
		found = slices.DeleteFunc(found, func(p *binlog.Prepared) bool { return !slices.Contains(names, p.ID) })
		missing = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.ContainsFunc(found, func(p *binlog.Prepared) bool { return p.ID == name })
		})
		switch {
		case len(missing) == 0:
			return found, nil, nil
		case first == 0 && empty && files[0].number() == 1:
			return found, nil, nil
		case first == 0:
			return found, missing, nil
		}
	}
}

// gatherXA returns the transactions that are prepared in the files from the given one on
// up to a place.
func (r *reader) gatherXA(ctx context.Context, file string, until binlog.Place) ([]*binlog.Prepared, error) {
	conn, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	captures, catalog := r.captures(), r.catalog
	found, begins, err := binlog.Gather(ctx, binlog.Options{Conn: conn, ServerID: randomServerID(), Values: r.cfg.valueOptions(r.server), Logger: r.logger}, file, until,
		func(id schema.TableID) bool {
			if d, ok := catalog.Definition(id); ok {
				id = d.ID
			}
			return captures(id)
		})
	if err != nil {
		return nil, r.cfg.dumpError(err, file)
	}
	out := make([]*binlog.Prepared, len(found))
	for i, p := range found {
		own := *p
		if own.Start, err = r.files.Position(begins[i]); err != nil {
			return nil, err
		}
		out[i] = &own
	}
	return out, nil
}

// awaitXA waits until transactions are decided whose rows are gone.
func (r *reader) awaitXA(ctx context.Context, conn *wire.Conn, missing []string) error {
	r.logger.Warn("XA transactions are prepared whose changes the binlog has no more; waiting for their end", "XA", strings.Join(missing, "; "), "seconds", int(xaPatience.Seconds()))
	for deadline := time.Now().Add(xaPatience); ; {
		names, _, err := listXA(ctx, conn)
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return !slices.Contains(names, name) })
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return goneXA(missing)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// goneXA says that the rows of prepared transactions can't be had any more.
func goneXA(missing []string) error {
	return withHint(fmt.Errorf("%w: %s, and the server's binlog does not have its changes any more", binlog.ErrUnknownXA, strings.Join(missing, "; ")), xaDecide)
}

// widenXA reads the rows of the prepared transactions again, up to the place of the tail,
// for tables that are captured now and were not when these were prepared.
func (r *reader) widenXA(ctx context.Context, conn *wire.Conn, moved bool) error {
	var names []string
	for _, p := range r.prepared {
		names = append(names, p.ID)
	}
	if len(names) == 0 {
		return nil
	}
	if moved {
		return withHint(fmt.Errorf("%w: %s, on another server, and the changes of tables that are captured since then are not known", binlog.ErrUnknownXA, strings.Join(names, "; ")), xaDecide)
	}
	found, missing, err := r.searchXA(ctx, conn, names, r.files.Place(r.core.Position()), false)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return goneXA(missing)
	}
	r.prepared = found
	return nil
}

// unknownXA returns what the stream asks about a transaction that it has not seen prepared.
func (r *reader) unknownXA() func(name string, pos uint64) error {
	decided := r.decidedXA
	return func(name string, pos uint64) error {
		if pos < decided {
			return nil // every snapshot has its changes
		}
		return binlog.UnknownXA(name)
	}
}

// xa tells of prepared transactions.
func (c *checker) xa(ctx context.Context) {
	names, allowed, err := listXA(ctx, c.conn)
	switch {
	case err != nil:
		c.fail(err)
	case !allowed:
		c.logger.Info("the account may not list prepared XA transactions; where there are some when the pipeline begins: " + strings.Replace(xaPrivilege, "the account", c.account, 1))
	case len(names) > 0:
		c.logger.Warn("XA transactions are prepared and not decided: their changes are read from the binlog, which must still have them", "XA", strings.Join(names, "; "))
	}
}
