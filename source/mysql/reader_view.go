package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/snapshot"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// viewPatience is how long the tail stands still for the view of a table that
// somebody has locked, tryPatience for one that has no certain place, because the table
// is being written to. It goes on then, and the next view is tried further on.
const (
	viewPatience = 5 * time.Second
	tryPatience  = time.Second
)

// restPatience is how long such a moment is looked for before the pipeline ends.
const restPatience = 10 * time.Minute

// outcome is what came of an attempt to open a view.
type outcome uint8

const (
	viewOpened outcome = iota
	viewLocked         // somebody holds the table
	viewUnsure         // whether the view sees some changes of the table can't be told
)

// openView opens the view of a table while the tail stands still.
func (r *reader) openView(t *tableState) {
	a := viewAttempt{from: r.core.Position(), tail: r.tail(), def: t.def, files: r.files}
	r.asking, r.coverNext = time.Now(), true
	r.pool.askLong(func(ctx context.Context, c *control) func(context.Context) error {
		position := a.from
		v, out, err := a.open(ctx, c)
		behind, err := c.behind(ctx, a.files, err)
		return func(ctx context.Context) error {
			r.asking = time.Time{}
			switch {
			case err != nil:
				return r.failed(t, err, behind)
			case out == viewUnsure:
				return r.restless(t)
			case out == viewLocked:
				t.catchUp = 0
				return nil
			}
			return r.opened(ctx, t, v, position)
		}
	})
}

// viewAttempt is the search for a view of a table that sees what the tail has passed.
type viewAttempt struct {
	from  uint64 // everything before it is seen by any view
	tail  snapshot.Tail
	def   *schema.Table
	files binlog.Files
}

// open opens views until one has a certain place, as long as it has patience. The view
// ends with ctx at the latest.
func (a *viewAttempt) open(ctx context.Context, c *control) (v *snapshot.View, out outcome, err error) {
	if err := c.reader.Cover(ctx, a.tail); err != nil {
		return nil, viewOpened, err
	}
	patient, cancel := context.WithTimeout(ctx, viewPatience)
	defer cancel()
	defer func() {
		switch {
		case err != nil && ctx.Err() == nil && patient.Err() != nil:
			out, err = viewLocked, nil
		case err == nil && out == viewOpened:
			context.AfterFunc(ctx, v.Close) // the answer may meet nobody
			return
		}
		if v != nil {
			v.Close()
			v = nil
		}
	}()
	if v, err = c.reader.OpenView(patient, a.def); err != nil || a.tail.GTIDs == "" {
		return v, viewOpened, err
	}
	for begun, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if v.Exact, err = a.certain(patient, c, v); err != nil || v.Exact {
			return v, viewOpened, err
		}
		if time.Since(begun) > tryPatience {
			return v, viewUnsure, nil
		}
		select {
		case <-patient.Done():
			return v, viewOpened, context.Cause(patient)
		case <-time.After(pause):
		}
		if err = v.Renew(patient); err != nil {
			return v, viewOpened, err
		}
	}
}

// certain reports whether a view of MySQL sees exactly those changes of the table that
// lie before its High: no transaction has any that is in the log there, and was not
// certainly visible when the view was opened. A transaction is in the log first, then
// visible, then in gtid_executed, so those are the ones that this set did not have.
func (a *viewAttempt) certain(ctx context.Context, c *control, v *snapshot.View) (bool, error) {
	done, err := binlog.ParseGTIDSet(stripSpace(v.GTIDs))
	if err != nil {
		return false, err
	}
	high, err := a.files.Position(binlog.Place(v.High))
	if err != nil || high <= a.from {
		return err == nil, err
	}
	from := a.files.Place(a.from)
	if from.File != v.High.File {
		return false, nil // the tail has to come to the next file
	}
	var events []logEvent
	err = c.with(ctx, func(conn *wire.Conn) error {
		events, err = logEvents(ctx, conn, from)
		return err
	})
	if errors.Is(err, errHalfEvent) {
		return false, nil
	}
	if err != nil || len(events) == maxLogEvents {
		return false, err
	}
	touched, seen := changedBefore(events, done, a.def.ID, v.High.Offset)
	a.from += max(seen, from.Offset) - from.Offset
	return !touched, nil
}

// opened uses a view that was opened while the tail stood at position.
func (r *reader) opened(ctx context.Context, t *tableState, v *snapshot.View, position uint64) error {
	t.drop()
	t.view = v
	var err error
	if t.viewHigh, err = r.files.Position(binlog.Place(v.High)); err != nil {
		return err
	}
	if t.viewEnd, err = r.files.Position(binlog.Place(v.Defined)); err != nil {
		return err
	}
	t.catchUp, t.doubtFrom = 0, position
	if v.Exact {
		t.doubtFrom = t.viewHigh
	}
	return r.do(ctx, r.core.Opened(t.win, seesBefore(t.viewHigh)))
}

// errNoView: no read view of a table without a key has a certain place in the log.
var errNoView = errors.New("a table without a key is written to so often that its snapshot has no certain place in the binlog")

// restless has the tail go on before the next attempt at a view of a table that is
// written to all the time, and ends the pipeline when that has lasted too long.
func (r *reader) restless(t *tableState) error {
	t.catchUp = 0
	now := time.Now()
	if t.restless.IsZero() {
		t.restless = now
		r.logger.Info("the snapshot of a table without a key waits for a moment in which nobody writes to it", "table", t.def.ID.String())
	}
	if now.Sub(t.restless) < r.cfg.restPatience {
		return nil
	}
	return withHint(fmt.Errorf("%w: table %s at %s, tried for %s", errNoView, t.def.ID, r.format(r.core.Position()), r.cfg.restPatience),
		"give the table a primary key, stop writing to it for a moment, or leave it out with tables.exclude")
}

// doubt starts the snapshot of a table without a key anew: the log of a MySQL without
// GTIDs has a change of it between where the tail stood before the view was opened and
// where the log ended after. Nothing tells on which side it lies.
func (r *reader) doubt(ctx context.Context, t *tableState) error {
	if err := r.restless(t); err != nil {
		return err
	}
	t.doubts++
	t.notBefore = time.Now().Add(min(time.Duration(t.doubts)*pollInterval, time.Second))
	return r.reset(ctx, t, "a transaction may or may not be in the snapshot")
}
