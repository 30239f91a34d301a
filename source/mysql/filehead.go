package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// logFile is one row of SHOW BINARY LOGS.
type logFile struct {
	name string
	size uint64
}

// number returns the number in a file's name, for instance 3 of binlog.000003.
func (f logFile) number() uint64 {
	_, n, _ := binlog.ParseFile(f.name)
	return n
}

// base returns what the file's name begins with.
func (f logFile) base() string {
	base, _, _ := binlog.ParseFile(f.name)
	return base
}

// logFiles lists the server's binlog files, oldest first. There is always one.
func logFiles(ctx context.Context, conn *wire.Conn) ([]logFile, error) {
	r, err := conn.Query(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return nil, fmt.Errorf("list the binlog files: %w", err)
	}
	var out []logFile
	for _, row := range r.Rows {
		size, err := row[1].Uint()
		if err != nil {
			return nil, fmt.Errorf("list the binlog files: %w", err)
		}
		out = append(out, logFile{name: row[0].String(), size: size})
	}
	if len(out) == 0 {
		return nil, withHint(fmt.Errorf("%w: there are no binlog files", ErrServerUnsuitable), "%s", hintLogBin)
	}
	return out, nil
}

// fileHead is what the first events of a file say.
type fileHead struct {
	// Written is when the file was begun, in seconds since 1970.
	Written uint32
	// Previous are the GTIDs of all files before it (MySQL).
	Previous *binlog.GTIDSet
}

// heads reads the first events of files, each once.
type heads struct {
	cfg  *config
	read map[string]fileHead
}

func newHeads(c *config) *heads { return &heads{cfg: c, read: map[string]fileHead{}} }

// head reads the head of a file by a short dump.
func (h *heads) head(ctx context.Context, file string) (fileHead, error) {
	if known, ok := h.read[file]; ok {
		return known, nil
	}
	out := fileHead{Previous: &binlog.GTIDSet{}}
	err := h.cfg.scanFile(ctx, file, func(e scanned) (bool, error) {
		switch e.Type {
		case event.FormatType:
			out.Written = e.Timestamp
			return false, nil
		case event.PreviousGTIDsType:
			return false, e.addGTIDs(out.Previous)
		case event.GTIDListType, event.StartEncryptionType, event.BinlogCheckpointType:
			return false, nil
		}
		return true, nil // the first event with content
	})
	if err != nil {
		return out, err
	}
	h.read[file] = out
	return out, nil
}

// lastFile returns the index of the last file for which ok holds, -1 for none; ok
// holds for the files up to some one and for none behind it.
func lastFile(files []logFile, ok func(file string) (bool, error)) (int, error) {
	low, high := -1, len(files) // ok at low, not at high
	for high-low > 1 {
		mid := (low + high) / 2
		yes, err := ok(files[mid].name)
		if err != nil {
			return 0, err
		}
		if yes {
			low = mid
		} else {
			high = mid
		}
	}
	return low, nil
}

// fileAt returns the index of the last file that was begun at t or before, -1 when all are younger.
func (h *heads) fileAt(ctx context.Context, files []logFile, t time.Time) (int, error) {
	return lastFile(files, func(file string) (bool, error) {
		head, err := h.head(ctx, file)
		return int64(head.Written) <= t.Unix(), err
	})
}
