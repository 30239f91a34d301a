package readers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Messages is what [CompareMessages] found beside the difference of the folded rows.
type Messages struct {
	Changelog
	// Tombstones counts messages without a value, Reads those of the snapshot.
	Tombstones, Reads int
	// Again counts rows of a table without a key that the snapshot wrote more than once:
	// such a snapshot is read in one piece, so it begins anew when it is cut off, and what
	// a topic has can't be taken back. They are no part of Doubled.
	Again int
}

// String says it in one line.
func (m Messages) String() string {
	text := fmt.Sprintf("%s, %d of the snapshot, %d tombstones", m.Changelog, m.Reads, m.Tombstones)
	if m.Again > 0 {
		text += fmt.Sprintf(", %d READ AGAIN by a snapshot without a key that was cut off", m.Again)
	}
	return text
}

// event is one message of a key.
type event struct {
	op, place string
	at        time.Time // of the commit
	version   int64
	row       []Text
	oldKey    string // of a row whose key changed to this one
}

// topicFold follows the messages of one table.
type topicFold struct {
	c         *comparison
	columns   []column
	out       Messages
	histories map[string][]event
	places    map[string]bool
	// partitions says in which one a key's messages lie; dead keys wait for their tombstone.
	partitions  map[string]int
	dead        map[string]bool
	snapshotEnd time.Time
}

// CompareMessages reads a topic through Kafka's console consumer, which sees committed
// messages only, folds the events of each key, and compares what is left with the
// source. Each change may be there once; the versions of a key's history must be
// consecutive, its messages lie in one partition, and each delete has its tombstone.
// snapshotEnd is a time of the database's clock at which the snapshot was over, zero when
// unknown: no history begins later with an update or a delete.
func CompareMessages(ctx context.Context, db Source, table, broker, topic string, snapshotEnd time.Time) (Messages, error) {
	columns, err := db.columns(ctx, table)
	if err != nil {
		return Messages{}, err
	}
	f := newTopicFold(table, columns, snapshotEnd)
	if err := ReadTopic(ctx, broker, topic, f.message); err != nil {
		return Messages{}, err
	}
	err = f.finish(ctx, db, table)
	return f.out, err
}

func newTopicFold(table string, columns []column, snapshotEnd time.Time) *topicFold {
	return &topicFold{c: newComparison(table, columns), columns: columns, histories: map[string][]event{}, places: map[string]bool{},
		partitions: map[string]int{}, dead: map[string]bool{}, snapshotEnd: snapshotEnd}
}

// finish folds what came and compares it with the source.
func (f *topicFold) finish(ctx context.Context, db Source, table string) (err error) {
	for key, history := range f.histories {
		f.fold(key, history)
	}
	for key, dead := range f.dead {
		if dead {
			f.broken(key, "a delete without a tombstone")
		}
	}
	f.out.Diff, err = f.c.finish(ctx, db, table)
	return err
}

func (f *topicFold) example(key, format string, args ...any) {
	f.c.diff.example("key %s: %s", strings.ReplaceAll(strings.TrimRight(key, "\x00"), "\x00", ","), fmt.Sprintf(format, args...))
}

func (f *topicFold) broken(key, format string, args ...any) {
	f.out.Broken++
	f.example(key, format, args...)
}

// message takes the next message of a partition.
func (f *topicFold) message(m Message) error {
	key := ""
	if f.c.keyed {
		if m.Key == nil {
			return fmt.Errorf("partition %d, offset %d: a message without a key", m.Partition, m.Offset)
		}
		var err error
		if key, err = messageKey(f.columns, *m.Key); err != nil {
			return err
		}
		if p, ok := f.partitions[key]; ok && p != m.Partition {
			f.broken(key, "it is in partition %d and in %d", p, m.Partition)
		}
		f.partitions[key] = m.Partition
	}
	if m.Value == nil {
		f.out.Tombstones++
		if !f.dead[key] {
			f.broken(key, "a tombstone that follows no delete")
		}
		delete(f.dead, key)
		return nil
	}
	if f.dead[key] {
		f.broken(key, "a delete without a tombstone")
		delete(f.dead, key)
	}
	var e envelope
	if err := json.Unmarshal([]byte(*m.Value), &e); err != nil {
		return fmt.Errorf("partition %d, offset %d: %w", m.Partition, m.Offset, err)
	}
	return f.event(key, m, &e)
}

func (f *topicFold) event(key string, m Message, e *envelope) error {
	f.out.Changes++
	ev := event{op: e.Op, place: e.place(), at: time.UnixMicro(e.Source.TsUs)}
	if e.Op == "r" {
		f.out.Reads++
	} else {
		id := ev.place + e.Op + key
		if f.places[id] && f.c.keyed && e.Source.LSN+e.Source.Pos > 0 {
			f.out.Doubled++
			f.example(key, "%s at %s twice", e.Op, ev.place)
		}
		f.places[id] = true
	}
	if e.Op == "d" {
		f.dead[key] = f.c.keyed
	} else {
		var err error
		if ev.row, err = e.row(f.columns); err != nil {
			return err
		}
		ev.version = versionOf(f.columns, ev.row)
	}
	if old, ok := strings.CutPrefix(m.Headers, "__debezium.oldkey:"); ok {
		var err error
		if ev.oldKey, err = messageKey(f.columns, old); err != nil {
			return err
		}
	}
	if !f.c.keyed {
		f.keyless(e.Op, ev.row)
		return nil
	}
	f.histories[key] = append(f.histories[key], ev)
	return nil
}

// keyless takes a row of a table without a key, whose rows are all different. A snapshot
// that begins anew also reads what has come as a change by then.
func (f *topicFold) keyless(op string, row []Text) {
	_, sum := f.c.identify(row)
	id := string(sum[:])
	if op == "r" && f.places[id] {
		f.out.Again++
		return
	}
	f.places[id] = true
	f.c.target(row)
}

// fold checks one key's history, which is in the order of its partition, and hands its
// last row to the comparison.
func (f *topicFold) fold(key string, history []event) {
	exists, version := false, int64(0)
	for i, ev := range history {
		switch {
		case ev.op == "r" && i > 0:
			f.out.Doubled++
			f.example(key, "read behind other changes")
		case i == 0 && (ev.op == "u" || ev.op == "d"):
			if !f.snapshotEnd.IsZero() && ev.at.After(f.snapshotEnd) {
				f.broken(key, "it begins with %s, after the snapshot", ev.op)
			}
		case (ev.op == "u" || ev.op == "d") && !exists, ev.op == "c" && exists:
			f.broken(key, "message %d of %d is %s", i+1, len(history), ev.op)
		case ev.op != "d" && ev.version > 0 && version > 0 && ev.version != version+1:
			f.broken(key, "version %d follows %d", ev.version, version)
		}
		if exists = ev.op != "d"; exists {
			version = ev.version
		}
	}
	if !exists {
		return
	}
	last := len(history) - 1
	row := slices.Clone(history[last].row)
	for i := range row {
		row[i] = f.value(key, last, i)
	}
	f.c.target(row)
}

// value returns a column's value behind message n of a key: where the server did not send
// it, that of the message before; behind a change of the key, that of the old key.
func (f *topicFold) value(key string, n, col int) Text {
	for {
		ev := f.histories[key][n]
		v := ev.row[col]
		if v == nil || *v != unavailable {
			return v
		}
		if ev.oldKey != "" {
			key = ev.oldKey
			if n = slices.IndexFunc(f.histories[key], func(old event) bool { return old.op == "d" && old.place == ev.place }); n < 1 {
				return v
			}
		}
		if n--; n < 0 || f.histories[key][n].op == "d" {
			return v
		}
	}
}
