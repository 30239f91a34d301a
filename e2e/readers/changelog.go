package readers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The columns that append mode adds to a table.
const (
	colOp       = "__op"
	colPosition = "__pos"
	colOrdinal  = "__ordinal"
)

// Changelog is what [Reader.CompareChangelog] found beside the difference of the
// folded rows.
type Changelog struct {
	Diff
	// Changes counts the rows of the changelog.
	Changes int
	// Doubled counts changes that are there twice: the same position and ordinal,
	// or for rows found by the snapshot the same key.
	Doubled int
	// Broken counts keys whose history can't be: an update follows a delete, versions
	// are not consecutive, or it begins with an update or a delete though the
	// snapshot was over. (While the snapshot runs it may: a row that changes before
	// it is read is left to its changes.)
	Broken int

	snapshotEnd int64
}

// OK reports whether nothing was found.
func (c Changelog) OK() bool { return c.Equal() && c.Doubled == 0 && c.Broken == 0 }

// String says it in one line.
func (c Changelog) String() string {
	text := fmt.Sprintf("%s (changelog of %d, %d doubled, %d broken histories)", c.Diff, c.Changes, c.Doubled, c.Broken)
	if c.Equal() && len(c.Examples) > 0 {
		text += ": " + strings.Join(c.Examples, "; ")
	}
	return text
}

// change is one row of a changelog.
type change struct {
	op            string
	pos, ordinal  int64
	version       int64
	row           []Text
	snapshotsRead bool
}

// CompareChangelog folds an Iceberg table in append mode to the last state of
// each key and compares it with the source. Each change may be there once; where
// the table has a column called version, the versions of each key's history must
// be consecutive. A table without a key is compared as it is (inserts alone).
// snapshotEnd is a log position at which the snapshot was over, 0 when unknown.
func (r *Reader) CompareChangelog(ctx context.Context, db Source, source, target string, engine Engine, snapshotEnd int64) (Changelog, error) {
	columns, err := db.columns(ctx, source)
	if err != nil {
		return Changelog{}, err
	}
	c := newComparison(source, columns)
	log := Changelog{snapshotEnd: snapshotEnd}
	histories := map[string][]change{}
	places := map[[2]int64]bool{}
	var meta, index []int
	err = r.Rows(Ref{Table: target}, engine, func(names []string, row []Text) error {
		if index == nil {
			if index, err = positions(columns, names); err != nil {
				return err
			}
			marks := []column{{name: colOp}, {name: colPosition}, {name: colOrdinal}}
			if meta, err = positions(marks, names); err != nil {
				return err
			}
		}
		ch, err := parseChange(row, meta)
		if err != nil {
			return err
		}
		ch.row = pick(row, index)
		ch.version = versionOf(columns, ch.row)
		log.Changes++
		if !ch.snapshotsRead {
			place := [2]int64{ch.pos, ch.ordinal}
			if places[place] {
				log.Doubled++
				c.diff.example("position %d ordinal %d twice", ch.pos, ch.ordinal)
			}
			places[place] = true
		}
		if !c.keyed {
			c.target(ch.row)
			return nil
		}
		key, _ := c.identify(ch.row)
		histories[key] = append(histories[key], ch)
		return nil
	})
	if err != nil {
		return Changelog{}, err
	}
	for key, history := range histories {
		log.fold(c, key, history)
	}
	log.Diff, err = c.finish(ctx, db, source)
	return log, err
}

// fold checks one key's history and hands its last row to the comparison.
func (log *Changelog) fold(c *comparison, key string, history []change) {
	slices.SortStableFunc(history, func(a, b change) int {
		if a.snapshotsRead != b.snapshotsRead {
			if a.snapshotsRead {
				return -1
			}
			return 1
		}
		if a.pos != b.pos {
			return int(max(-1, min(1, a.pos-b.pos)))
		}
		return int(a.ordinal - b.ordinal)
	})
	broken := ""
	exists, version := false, int64(0)
	for i, ch := range history {
		switch {
		case ch.op == "r" && i > 0:
			log.Doubled++
			c.diff.example("key %q read twice", strings.TrimRight(key, "\x00"))
		case i == 0 && (ch.op == "u" || ch.op == "d"):
			if log.snapshotEnd > 0 && ch.pos > log.snapshotEnd {
				broken = fmt.Sprintf("it begins with %s at position %d, after the snapshot", ch.op, ch.pos)
			}
		case (ch.op == "u" || ch.op == "d") && !exists, ch.op == "c" && exists:
			broken = fmt.Sprintf("change %d of %d is %s", i+1, len(history), ch.op)
		case ch.op != "d" && ch.version > 0 && version > 0 && ch.version != version+1:
			broken = fmt.Sprintf("version %d follows %d", ch.version, version)
		}
		exists = ch.op != "d"
		if ch.op != "d" {
			version = ch.version
		}
	}
	if broken != "" {
		log.Broken++
		c.diff.example("history of key %q: %s", strings.TrimRight(key, "\x00"), broken)
	}
	if exists {
		c.target(history[len(history)-1].row)
	}
}

// parseChange reads the added columns.
func parseChange(row []Text, meta []int) (ch change, err error) {
	for _, i := range meta {
		if row[i] == nil {
			return ch, fmt.Errorf("readers: a row of the changelog has no operation, position or ordinal")
		}
	}
	ch.op = *row[meta[0]]
	ch.snapshotsRead = ch.op == "r"
	if ch.pos, err = strconv.ParseInt(*row[meta[1]], 10, 64); err != nil {
		return ch, err
	}
	ch.ordinal, err = strconv.ParseInt(*row[meta[2]], 10, 64)
	return ch, err
}

// versionOf returns the value of the column called version, 0 without one.
func versionOf(columns []column, row []Text) int64 {
	for i, c := range columns {
		if c.name == "version" && row[i] != nil {
			v, _ := strconv.ParseInt(*row[i], 10, 64)
			return v
		}
	}
	return 0
}
