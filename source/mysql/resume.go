package mysql

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// How long a server may take until it shows transactions that were captured: its
// GTIDs lag behind its binlog, a replica behind its source.
const (
	patienceSame  = 5 * time.Second
	patienceOther = 30 * time.Second
)

// resumePlace returns where a pipeline goes on from its checkpoint: saved with the
// GTIDs and the place up to which everything was emitted. born is when the file of
// that place was begun, in seconds since 1970, 0 where it is not known. It finds
// binlog that was purged, a history that is not the checkpoint's, and a failover.
func (c *config) resumePlace(ctx context.Context, conn *wire.Conn, s server, saved beginning, born uint32) (beginning, error) {
	b := saved
	b.Server, b.Moved = s.identity(), false
	same := b.Server == saved.Server
	b.ByGTID = s.gtids() && saved.ByGTID
	if !b.ByGTID && !same {
		return b, &LogError{Place: saved.Place.String(), Problem: fmt.Sprintf("the server is %s, the checkpoint comes from %s, and without GTIDs files mean nothing to another server", b.Server, saved.Server),
			Hint: "connect to the server that was captured, or " + startOver, Err: ErrHistory}
	}
	if b.ByGTID {
		if err := c.checkGTIDs(ctx, conn, s, &b, same); err != nil {
			return b, err
		}
	}
	if !same {
		b.Moved = true
		return b, c.placeOf(ctx, conn, s, &b, keepLonger)
	}
	return b, c.resumeSame(ctx, conn, s, &b, born)
}

// resumeSame checks that the files of a server are those of the checkpoint.
func (c *config) resumeSame(ctx context.Context, conn *wire.Conn, s server, b *beginning, born uint32) error {
	files, err := logFiles(ctx, conn)
	if err != nil {
		return err
	}
	base, number, err := binlog.ParseFile(b.Place.File)
	if err != nil {
		return err
	}
	var found *logFile
	renamed := true // log_bin has another value now
	for i, f := range files {
		if f.name == b.Place.File {
			found = &files[i]
		}
		if other, _, err := binlog.ParseFile(f.name); err == nil && other == base {
			renamed = false
		}
	}
	switch {
	case found != nil:
		return c.sameFile(ctx, *found, b.Place, born)
	case b.ByGTID && renamed:
		b.Moved = true
		return c.placeOf(ctx, conn, s, b, keepLonger)
	case number < files[0].number() && b.ByGTID: // purged, but everything in it was read
		return c.placeOf(ctx, conn, s, b, keepLonger)
	case number < files[0].number():
		return purged(b.Place.String(), files[0].name, keepLonger)
	}
	return reset(b.Place, fmt.Sprintf("the server's newest file is %s", files[len(files)-1].name))
}

// sameFile checks that a file is the one that was read.
func (c *config) sameFile(ctx context.Context, f logFile, p binlog.Place, born uint32) error {
	if f.size < p.Offset {
		return reset(p, fmt.Sprintf("the file has %d bytes only", f.size))
	}
	if born == 0 {
		return nil
	}
	head, err := newHeads(c).head(ctx, f.name)
	if err != nil {
		return err
	}
	if head.Written != born {
		return reset(p, "another file has the name now, begun at "+time.Unix(int64(head.Written), 0).UTC().Format(time.DateTime+" UTC"))
	}
	return nil
}

func reset(p binlog.Place, problem string) error {
	return &LogError{Place: p.String(), Problem: problem + ": the binlog was reset (RESET MASTER, RESET BINARY LOGS AND GTIDS), or the server was restored from a backup", Hint: startOver, Err: ErrHistory}
}

// checkGTIDs checks that the server has executed all of b.GTIDs, and still has the
// binlog of what is not in it.
func (c *config) checkGTIDs(ctx context.Context, conn *wire.Conn, s server, b *beginning, same bool) error {
	patience := patienceOther
	if same {
		patience = patienceSame
	}
	if same {
		if ok, err := committed(ctx, conn, s, b.GTIDs); err != nil {
			return err
		} else if ok {
			return notPurged(ctx, conn, s, b.GTIDs, keepLonger)
		}
	}
	if ok, err := waitExecuted(ctx, conn, s.executedVariable(), b.GTIDs, patience); err != nil {
		return err
	} else if !ok {
		return lacks(b, same, s.executedVariable())
	}
	return notPurged(ctx, conn, s, b.GTIDs, keepLonger)
}

// executedVariable names what the server's binlog has, or had, of GTIDs.
func (s server) executedVariable() string {
	if s.mariadb() {
		return "gtid_binlog_pos"
	}
	return "gtid_executed"
}

// notPurged checks that the server still has the binlog of what is not in set. For
// MariaDB placeOf finds out.
func notPurged(ctx context.Context, conn *wire.Conn, s server, set *binlog.GTIDSet, hint string) error {
	if s.mariadb() {
		return nil
	}
	gone, err := gtidVariable(ctx, conn, "gtid_purged")
	if err != nil || set.Contains(gone) {
		return err
	}
	files, err := logFiles(ctx, conn)
	if err != nil {
		return err
	}
	return purged(set.String(), files[0].name, hint)
}

// lacks says that the server does not have what was captured.
func lacks(b *beginning, same bool, variable string) error {
	e := &LogError{Place: b.GTIDs.String(), Problem: "the server's " + variable + " lacks transactions that were captured: it was reset (RESET MASTER, RESET BINARY LOGS AND GTIDS), restored from a backup, or lost them in a crash",
		Hint: startOver + "; sync_binlog = 1 keeps a crash from losing transactions", Err: ErrHistory}
	if !same {
		e.Problem = "this server's " + variable + " lacks transactions that were captured from server " + b.Server
		e.Hint = "wait until it has caught up, or connect to a server that has; where a failover lost them, " + startOver
		e.Err = ErrBehind
	}
	return e
}

// waitExecuted waits until the server shows a set of GTIDs.
func waitExecuted(ctx context.Context, conn *wire.Conn, variable string, set *binlog.GTIDSet, patience time.Duration) (bool, error) {
	deadline := time.Now().Add(patience)
	for {
		executed, err := gtidVariable(ctx, conn, variable)
		if err != nil {
			return false, err
		}
		if executed.Contains(set) {
			return true, nil
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// owner is what gtid_owned has behind a number: the session that owns it.
var owner = regexp.MustCompile(`#[0-9]+`)

// committed reports whether the server from which a set of GTIDs was captured has them
// still: executed, or owned by sessions of MySQL that wait for a replica
// (semi-synchronous replication) with the transaction in the binlog, maybe for very long.
func committed(ctx context.Context, conn *wire.Conn, s server, set *binlog.GTIDSet) (bool, error) {
	owned := &binlog.GTIDSet{}
	if !s.mariadb() { // whose variable does not lag behind the binlog
		r, err := conn.Query(ctx, "SELECT @@GLOBAL.gtid_owned")
		if err != nil {
			return false, fmt.Errorf("read GTIDs: %w", err)
		}
		if owned, err = binlog.ParseGTIDSet(owner.ReplaceAllString(stripSpace(r.Rows[0][0].String()), "")); err != nil {
			return false, err
		}
	}
	executed, err := gtidVariable(ctx, conn, s.executedVariable())
	if err != nil {
		return false, err
	}
	executed.Union(owned)
	return executed.Contains(set), nil
}

// dumpError adds the place where a dump wanted to begin or to go on: file:offset or
// a set of GTIDs.
func (c *config) dumpError(err error, at string) error {
	return fmt.Errorf("binlog at %s: %w", shorten(at), err)
}
