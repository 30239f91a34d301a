package mysql

import (
	"context"
	"fmt"
	"math"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// beginning is where the binlog is read from, for the first time or after a restart.
type beginning struct {
	// Server identifies the server, see server.identity.
	Server string
	// ByGTID says that the dump begins with the first transaction that is not in
	// GTIDs, else it begins at Place.
	ByGTID bool
	GTIDs  *binlog.GTIDSet
	// Place is where the dump begins. By GTID it may begin later in the same file, or
	// behind it: everything that is not in GTIDs lies at Place or behind.
	Place binlog.Place
	// SkipEvents and SkipRows are what is left out at the beginning.
	SkipEvents, SkipRows uint64
	// Since leaves out the rows of transactions before it, in seconds since 1970.
	Since int64
	// Moved says that another server took over, or that its files are numbered anew:
	// positions go on by binlog.Follow.
	Moved bool
}

// startPlace returns where a pipeline begins that has no checkpoint. Everything
// that could be wrong with the place is found here, before anything is emitted.
func (c *config) startPlace(ctx context.Context, conn *wire.Conn, s server) (beginning, error) {
	if !s.gtids() && c.snapshotsAtStart() && !c.withoutGTID {
		return beginning{}, noGTID(s)
	}
	b := beginning{Server: s.identity(), ByGTID: s.gtids(), GTIDs: &binlog.GTIDSet{}}
	var err error
	switch c.mode {
	case modeEarliest:
		err = c.fromEarliest(ctx, conn, s, &b)
	case modeTimestamp:
		err = c.fromTimestamp(ctx, conn, s, &b)
	case modeSpecific:
		b.SkipEvents, b.SkipRows = c.offset.skipEvents, c.offset.skipRows
		if c.offset.gtidSet != "" {
			err = c.fromGTIDs(ctx, conn, s, &b)
		} else {
			err = c.fromPlace(ctx, conn, s, &b)
		}
	default:
		err = c.fromNow(ctx, conn, s, &b)
	}
	return b, err
}

func (c *config) snapshotsAtStart() bool { return c.mode == modeInitial || c.mode == modeSnapshot }

// fromNow begins with what is not yet in the binlog.
func (c *config) fromNow(ctx context.Context, conn *wire.Conn, s server, b *beginning) error {
	status, err := readStatus(ctx, conn)
	if err != nil {
		return err
	}
	b.Place = binlog.Place{File: status.File, Offset: status.Pos}
	switch {
	case s.mariadb():
		b.GTIDs, err = mariaGTIDsAt(ctx, conn, b.Place)
	case b.ByGTID:
		if b.GTIDs, err = binlog.ParseGTIDSet(status.Executed); err == nil {
			err = c.addUnseen(ctx, b.GTIDs, b.Place)
		}
	}
	return err
}

// addUnseen adds to set, which the server showed before it was asked for the place,
// what the binlog has up to there: MySQL enters a transaction into its set only
// after it is in the binlog and in the engine.
func (c *config) addUnseen(ctx context.Context, set *binlog.GTIDSet, place binlog.Place) error {
	if place.Offset > math.MaxUint32 {
		// A dump that leaves out 4 GB does not say where it goes on.
		return c.scanFile(ctx, place.File, func(e scanned) (bool, error) {
			if e.start >= place.Offset {
				return true, nil
			}
			return false, e.addGTIDs(set)
		})
	}
	reached := false // the file of the place
	return c.scan(ctx, wire.DumpRequest{ByGTID: true, GTIDSet: set.String(), EndAtEOF: true}, func(e scanned) (bool, error) {
		reached = reached || e.file == place.File
		if reached && (e.file != place.File || e.start >= place.Offset) {
			return true, nil
		}
		return false, e.addGTIDs(set)
	})
}

// fromEarliest begins with the oldest file.
func (c *config) fromEarliest(ctx context.Context, conn *wire.Conn, s server, b *beginning) error {
	files, err := logFiles(ctx, conn)
	if err != nil {
		return err
	}
	return c.fromFile(ctx, conn, s, files[0], b)
}

// fromFile begins with a file.
func (c *config) fromFile(ctx context.Context, conn *wire.Conn, s server, file logFile, b *beginning) error {
	b.Place = binlog.Place{File: file.name, Offset: binlog.FirstOffset}
	var err error
	switch {
	case s.mariadb():
		b.GTIDs, err = mariaGTIDsAt(ctx, conn, b.Place)
	case b.ByGTID:
		var head fileHead
		if head, err = newHeads(c).head(ctx, file.name); err == nil {
			b.GTIDs = head.Previous
		}
	}
	return err
}

// fromTimestamp begins with the last file that was begun before the time.
func (c *config) fromTimestamp(ctx context.Context, conn *wire.Conn, s server, b *beginning) error {
	files, err := logFiles(ctx, conn)
	if err != nil {
		return err
	}
	at, err := newHeads(c).fileAt(ctx, files, c.offset.since)
	if err != nil {
		return err
	}
	if at < 0 {
		if files[0].number() > 1 {
			return purged(c.offset.since.UTC().Format("2006-01-02 15:04:05 UTC"), files[0].name, laterPlace)
		}
		at = 0
	}
	b.Since = c.offset.since.Unix() // times in the binlog are whole seconds; rather too much than too little
	return c.fromFile(ctx, conn, s, files[at], b)
}

// fromGTIDs begins behind the given set of GTIDs.
func (c *config) fromGTIDs(ctx context.Context, conn *wire.Conn, s server, b *beginning) error {
	set, err := binlog.ParseGTIDSet(c.offset.gtidSet)
	if err != nil {
		return &LogError{Place: c.offset.gtidSet, Problem: err.Error(), Hint: "correct scan.startup.specific-offset.gtid-set", Err: ErrPlace}
	}
	if !s.gtids() {
		return &LogError{Place: c.offset.gtidSet, Problem: "gtid_mode is " + s.vars["gtid_mode"], Hint: "set scan.startup.specific-offset.file and .pos instead", Err: ErrPlace}
	}
	b.GTIDs = set
	executed, err := gtidVariable(ctx, conn, s.executedVariable())
	if err != nil {
		return err
	}
	if !executed.Contains(set) {
		return &LogError{Place: set.String(), Problem: "the server has not executed all of that; it has " + shorten(executed.String()),
			Hint: "correct scan.startup.specific-offset.gtid-set", Err: ErrPlace}
	}
	if err := notPurged(ctx, conn, s, set, laterPlace); err != nil {
		return err
	}
	return c.placeOf(ctx, conn, s, b, laterPlace)
}

// placeOf sets Place to the beginning of the file in which the first transaction lies
// that is not in GTIDs. hint is the way out where that was purged.
func (c *config) placeOf(ctx context.Context, conn *wire.Conn, s server, b *beginning, hint string) error {
	files, err := logFiles(ctx, conn)
	if err != nil {
		return err
	}
	heads := newHeads(c)
	at, err := lastFile(files, func(file string) (bool, error) {
		if s.mariadb() {
			before, err := mariaGTIDsAt(ctx, conn, binlog.Place{File: file, Offset: binlog.FirstOffset})
			return err == nil && b.GTIDs.Contains(before), err
		}
		head, err := heads.head(ctx, file)
		return err == nil && b.GTIDs.Contains(head.Previous), err
	})
	if err != nil {
		return err
	}
	if at < 0 {
		return purged(b.GTIDs.String(), files[0].name, hint)
	}
	b.Place = binlog.Place{File: files[at].name, Offset: binlog.FirstOffset}
	return nil
}

// gtidVariable reads a set of GTIDs of MySQL.
func gtidVariable(ctx context.Context, conn *wire.Conn, name string) (*binlog.GTIDSet, error) {
	return queryGTIDs(ctx, conn, "SELECT @@GLOBAL."+name)
}

// mariaGTIDsAt returns the GTIDs before a place between two groups.
func mariaGTIDsAt(ctx context.Context, conn *wire.Conn, p binlog.Place) (*binlog.GTIDSet, error) {
	return queryGTIDs(ctx, conn, fmt.Sprintf("SELECT BINLOG_GTID_POS(%s, %d)", wire.Literal(p.File), p.Offset))
}

func queryGTIDs(ctx context.Context, conn *wire.Conn, sql string) (*binlog.GTIDSet, error) {
	r, err := conn.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("read GTIDs: %w", err)
	}
	if len(r.Rows) != 1 || r.Rows[0][0].Null() {
		return nil, fmt.Errorf("read GTIDs: %s returned nothing", sql)
	}
	return binlog.ParseGTIDSet(stripSpace(r.Rows[0][0].String()))
}

// purged says that what comes behind a place is no longer there.
func purged(at, first, hint string) error {
	return &LogError{Place: at, Problem: "the server has removed binlog that is needed; its oldest file is " + first, Hint: hint, Err: ErrPurged}
}

// Ways out.
const (
	startOver  = "empty the checkpoint directory and the target tables, and start with a new snapshot"
	keepLonger = startOver + "; and keep the binlog longer: binlog_expire_logs_seconds"
	laterPlace = "choose a later place, or scan.startup.mode: earliest-offset"
)
