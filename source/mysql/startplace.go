package mysql

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// fromPlace begins at a file and an offset, which must lie between two transactions.
func (c *config) fromPlace(ctx context.Context, conn *wire.Conn, s server, b *beginning) error {
	files, err := logFiles(ctx, conn)
	if err != nil {
		return err
	}
	b.Place = binlog.Place{File: c.offset.file, Offset: c.offset.pos}
	if err := hasPlace(files, b.Place); err != nil {
		return err
	}
	before, err := c.checkBoundary(ctx, b.Place)
	switch {
	case err != nil:
	case s.mariadb():
		b.GTIDs, err = mariaGTIDsAt(ctx, conn, b.Place)
	case b.ByGTID:
		b.GTIDs = before
	}
	return err
}

// hasPlace checks that the server has the file, and that it is long enough.
func hasPlace(files []logFile, p binlog.Place) error {
	for _, f := range files {
		if f.name != p.File {
			continue
		}
		if p.Offset > f.size {
			return &LogError{Place: p.String(), Problem: fmt.Sprintf("the file has %d bytes only", f.size), Hint: "correct scan.startup.specific-offset.pos", Err: ErrPlace}
		}
		return nil
	}
	first, last := files[0], files[len(files)-1]
	if base, n, err := binlog.ParseFile(p.File); err == nil && base == first.base() && n < first.number() {
		return purged(p.String(), first.name, laterPlace)
	}
	return &LogError{Place: p.String(), Problem: fmt.Sprintf("the server's files are %s to %s", first.name, last.name), Hint: "correct scan.startup.specific-offset.file", Err: ErrPlace}
}

// checkBoundary reads the file up to p, which must lie between two transactions,
// and returns MySQL's GTIDs before it.
func (c *config) checkBoundary(ctx context.Context, p binlog.Place) (*binlog.GTIDSet, error) {
	b := boundary{wanted: p, set: &binlog.GTIDSet{}, last: binlog.FirstOffset, end: binlog.FirstOffset}
	if err := c.scanFile(ctx, p.File, b.event); err != nil {
		return nil, err
	}
	if !b.found && b.end != p.Offset { // the end of the newest file is a boundary
		return nil, b.none("no event begins there")
	}
	if !b.headed { // in front of what says so
		head, err := newHeads(c).head(ctx, p.File)
		return head.Previous, err
	}
	return b.set, nil
}

// boundary looks for a place between two transactions.
type boundary struct {
	wanted    binlog.Place
	set       *binlog.GTIDSet
	last, end uint64 // the newest boundary, and the end of what was read
	inside    bool
	found     bool
	headed    bool // PREVIOUS_GTIDS was read
}

// event takes the next event of the file and says whether the search is over.
func (b *boundary) event(e scanned) (bool, error) {
	if e.start > b.wanted.Offset {
		return true, b.none("no event begins there")
	}
	begins := e.beginsTransaction()
	if begins || e.betweenTransactions() {
		b.last, b.inside = e.start, false
	}
	switch {
	case e.start == b.wanted.Offset && b.inside:
		return true, b.none("it lies inside a transaction")
	case e.start == b.wanted.Offset:
		b.found = true
		return true, nil
	}
	b.end = e.start + uint64(e.Size)
	b.inside = b.inside || begins
	b.headed = b.headed || e.Type == event.PreviousGTIDsType
	return false, e.addGTIDs(b.set)
}

func (b *boundary) none(problem string) error {
	return &LogError{Place: b.wanted.String(), Problem: problem,
		Hint: fmt.Sprintf("set scan.startup.specific-offset.pos to %d, the last place between two transactions before it", b.last), Err: ErrPlace}
}

// beginsTransaction says that the event is the first of a transaction. Every
// transaction of MySQL 8.0 and of MariaDB has one.
func (e scanned) beginsTransaction() bool {
	switch e.Type {
	case event.GTIDType, event.GTIDTaggedType, event.AnonymousGTIDType, event.MariaGTIDType:
		return true
	}
	return false
}

// betweenTransactions says that the event is never part of one.
func (e scanned) betweenTransactions() bool {
	return e.Type == event.RotateType || e.Type == event.StopType || e.Type == event.BinlogCheckpointType
}
