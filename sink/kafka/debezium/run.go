package debezium

import (
	"bytes"
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// run is the encoding of one batch.
type run struct {
	e      *Encoder
	out    *Output
	b      *schema.Batch
	origin *Origin

	tx, txStart, txEnd int // the present transaction, its first row, and the row behind it
	query, queryEnd    int // the present statement, and the row behind it
	cells              int // of Unchanged, of rows that are done
	counted            int // the row up to which rows of one event have been counted
	event              int32
}

// stamp prints the time of processing.
func (r *run) stamp(now int64) {
	t := strconv.AppendInt(r.e.times[:0], javatext.FloorDiv(now, 1_000_000), 10)
	t = strconv.AppendInt(append(t, `,"ts_us":`...), javatext.FloorDiv(now, 1000), 10)
	t = strconv.AppendInt(append(t, `,"ts_ns":`...), now, 10)
	r.e.times = t
}

// row appends the messages of row i.
func (r *run) row(i int) error {
	if i >= r.txEnd {
		r.enter(i)
	}
	op := r.b.Op(i)
	r.e.o.changed = op != schema.OpRead
	unchanged := r.unchanged(i)
	if r.e.outbox != nil {
		if op != schema.OpRead && op != schema.OpInsert {
			return nil
		}
		return r.outboxRow(i)
	}
	switch op {
	case schema.OpRead:
		return r.write(message{op: Read, row: i, after: &r.e.after, key: &r.e.key, header: none})
	case schema.OpInsert:
		header, same, err := r.partner(i, i-1)
		if err != nil || same { // the delete's row has given the update
			return err
		}
		return r.write(message{op: Create, row: i, after: &r.e.after, key: &r.e.key, header: header, unchanged: unchanged})
	case schema.OpDelete:
		header, same, err := r.partner(i+1, i+1)
		if err != nil {
			return err
		}
		if same {
			return r.merge(i)
		}
		return r.delete(i, header)
	case schema.OpUpdate:
		return r.update(i, unchanged)
	}
	return nil // OpFill is no change
}

// enter takes up the transaction that row i belongs to.
func (r *run) enter(i int) {
	for i >= r.txEnd && r.tx+1 < len(r.b.Txs) {
		r.tx++
		r.txStart = r.txEnd
		r.txEnd += r.b.Txs[r.tx].Rows
	}
	var tx schema.Tx
	if r.tx >= 0 {
		tx = r.b.Txs[r.tx]
	}
	if i >= r.txEnd { // a batch that doesn't say
		r.txEnd = r.b.Rows()
	}
	r.e.source.begin(tx, txOrigin(r.origin, r.tx), r.b.Op(i) == schema.OpRead)
}

// unchanged returns the cells of row i that the server did not send.
func (r *run) unchanged(i int) []schema.Cell {
	cells := r.b.Unchanged
	start := r.cells
	for start < len(cells) && int(cells[start].Row) < i {
		start++
	}
	r.cells = start
	end := start
	for end < len(cells) && int(cells[end].Row) == i {
		end++
	}
	return cells[start:end]
}

// partner returns the key of row other, where the rows insert-1 and insert are a
// delete and an insert that the source made of one update of a key. same: the key of
// the messages, which is not the table's own then, is that of the other row.
func (r *run) partner(insert, other int) (_ span, same bool, err error) {
	b := r.b
	if insert < 1 || insert >= b.Rows() || b.Positions == nil || b.Op(insert-1) != schema.OpDelete || b.Op(insert) != schema.OpInsert ||
		b.Positions[insert-1] != b.Positions[insert] {
		return none, false, nil
	}
	old, err := r.keyOf(r.oldKey(), insert-1)
	if err != nil {
		return none, false, err
	}
	key, err := r.keyOf(&r.e.key, insert)
	if err != nil {
		return none, false, err
	}
	if other < insert {
		key, old = old, key
	}
	return key, r.e.o.KeyColumns != nil && bytes.Equal(r.out.cut(old), r.out.cut(key)), nil
}

// oldKey writes the key of a row before a change, from the row itself where the source
// sends no other.
func (r *run) oldKey() *rowWriter {
	if r.b.Before != nil {
		return &r.e.keyBefore
	}
	return &r.e.key
}

func (r *run) oldRow() *rowWriter {
	if r.b.Before != nil {
		return &r.e.before
	}
	return &r.e.after
}

// merge appends one update for the delete of row i and the insert of the row behind it.
func (r *run) merge(i int) error {
	unchanged := r.unchanged(i + 1)
	return r.write(message{op: Update, row: i + 1, before: r.oldRow(), beforeRow: i, after: &r.e.after, key: &r.e.key, header: none, unchanged: unchanged})
}

// keyOf appends a key as headers have it, without its schema.
func (r *run) keyOf(w *rowWriter, i int) (_ span, err error) {
	if !r.e.keyed {
		return none, nil
	}
	start := len(r.out.Data)
	r.out.Data, err = w.append(r.out.Data, i, nil)
	return span{start, len(r.out.Data)}, err
}

// update appends an update, or what a change of a key that is not the table's own
// becomes: a delete and a create.
func (r *run) update(i int, unchanged []schema.Cell) error {
	e := r.e
	m := message{op: Update, row: i, after: &e.after, key: &e.key, header: none, unchanged: unchanged}
	if r.b.Before == nil {
		return r.write(m)
	}
	m.before, m.beforeRow = &e.before, i
	if e.o.KeyColumns == nil {
		return r.write(m)
	}
	old, err := r.keyOf(&e.keyBefore, i)
	if err != nil {
		return err
	}
	key, err := r.keyOf(&e.key, i)
	if err != nil {
		return err
	}
	if bytes.Equal(r.out.cut(old), r.out.cut(key)) {
		r.out.Data = r.out.Data[:old.start]
		return r.write(m)
	}
	if err := r.delete(i, key); err != nil {
		return err
	}
	m.op, m.before, m.header = Create, nil, old
	return r.write(m)
}

// delete appends a delete and its tombstone. The old row is the row itself where
// the source sends no row before a change.
func (r *run) delete(i int, header span) error {
	e := r.e
	if e.o.skips(Delete) {
		return nil
	}
	m := message{op: Delete, row: i, before: r.oldRow(), beforeRow: i, key: r.oldKey(), header: header}
	event, tombstone := true, !e.o.NoTombstones
	if e.flat != nil {
		event, tombstone = e.flat.deletes(tombstone)
	}
	if event {
		if err := r.write(m); err != nil {
			return err
		}
	}
	if !tombstone {
		return nil
	}
	key, err := r.key(m)
	if err != nil {
		return err
	}
	headers := r.headers(m)
	r.out.Messages = append(r.out.Messages, Message{key: key, value: none, headers: headers, Row: int32(i), Operation: Delete})
	return nil
}

// message is what a message is made of.
type message struct {
	op            Operation
	row           int
	before, after *rowWriter // nil for none
	beforeRow     int
	key           *rowWriter
	header        span          // the key that goes or comes with it
	unchanged     []schema.Cell // of after
}

// key appends a message's key.
func (r *run) key(m message) (span, error) {
	if !r.e.keyed {
		return none, nil
	}
	at := len(r.out.Data)
	r.out.Data = append(r.out.Data, r.e.keyOpen...)
	if _, err := r.keyOf(m.key, m.row); err != nil {
		return none, err
	}
	if r.e.keyTail != nil {
		r.out.Data = append(r.out.Data[:len(r.out.Data)-1], r.e.keyTail...)
	}
	r.out.Data = append(r.out.Data, r.e.end...)
	return span{at, len(r.out.Data)}, nil
}

// headers appends the headers that all messages of a row have.
func (r *run) headers(m message) span {
	at := len(r.out.headers)
	if m.header != none {
		key := HeaderOldKey
		if m.op == Delete {
			key = HeaderNewKey
		}
		r.out.headers = append(r.out.headers, headerSpan{key: key, value: m.header})
	}
	r.out.headers = append(r.out.headers, r.e.context...)
	return span{at, len(r.out.headers)}
}

// write appends a message.
func (r *run) write(m message) error {
	e := r.e
	if e.o.skips(m.op) {
		return nil
	}
	key, err := r.key(m)
	if err != nil {
		return err
	}
	headers := r.headers(m)
	start := len(r.out.Data)
	if e.flat != nil {
		err = r.flatten(m)
	} else {
		err = r.envelope(m)
	}
	if err != nil {
		return err
	}
	value := span{start, len(r.out.Data)}
	if e.flat != nil {
		r.flatHeaders(m)
		headers.end = len(r.out.headers)
	}
	r.out.Messages = append(r.out.Messages, Message{key: key, value: value, headers: headers, Row: int32(m.row), Operation: m.op})
	return nil
}

// envelope appends the value of a message.
func (r *run) envelope(m message) (err error) {
	e := r.e
	dst := append(append(r.out.Data, e.valueOpen...), `{"before":`...)
	if dst, err = appendRow(dst, m.before, m.beforeRow, nil); err != nil {
		return err
	}
	if dst, err = appendRow(append(dst, `,"after":`...), m.after, m.row, m.unchanged); err != nil {
		return err
	}
	dst = e.source.append(append(dst, `,"source":`...), r.place(m.row, m.op))
	dst = r.order(append(dst, `,"transaction":`...), m.row)
	dst = append(dst, `,"op":"`...)
	dst = append(append(dst, byte(m.op)), `","ts_ms":`...)
	r.out.Data = append(append(append(dst, e.times...), '}'), e.end...)
	return nil
}

func appendRow(dst []byte, w *rowWriter, i int, unchanged []schema.Cell) ([]byte, error) {
	if w == nil {
		return append(dst, "null"...), nil
	}
	return w.append(dst, i, unchanged)
}

// place says where row i lies.
func (r *run) place(i int, op Operation) place {
	p := place{snapshot: r.e.source.falseness, last: txOrigin(r.origin, r.tx).LastCommit}
	if r.b.Positions != nil {
		p.position = r.b.Positions[i]
	}
	if op == Read {
		p.snapshot = snapshotNames[r.origin.At(i, r.b.Rows())]
		if r.tx >= 0 {
			p.position = r.b.Txs[r.tx].Commit
		}
	} else {
		p.row = r.inEvent(i)
		if r.e.source.queries && r.origin.Queries != nil {
			p.query = r.statement(i)
		}
	}
	if !r.e.source.postgres {
		p.file, p.offset = r.origin.File(p.position)
	}
	return p
}

// statement returns the statement that made row i, empty where it is not known.
func (r *run) statement(i int) string {
	runs := r.origin.Queries
	for i >= r.queryEnd && r.query+1 < len(runs) {
		r.query++
		r.queryEnd += runs[r.query].Rows
	}
	if i >= r.queryEnd {
		return ""
	}
	return runs[r.query].SQL
}

// inEvent returns the number of row i within its event of the log.
func (r *run) inEvent(i int) int32 {
	if r.origin.Rows != nil {
		return r.origin.Rows[i]
	}
	if r.e.source.postgres || r.b.Positions == nil {
		return 0
	}
	for ; r.counted < i; r.counted++ {
		next := r.counted + 1
		switch {
		case r.b.Positions[next] != r.b.Positions[r.counted]:
			r.event = 0
		case r.b.Op(next) != schema.OpInsert || r.b.Op(r.counted) != schema.OpDelete: // else both are of one row
			r.event++
		}
	}
	return r.event
}

// order appends the transaction block.
func (r *run) order(dst []byte, i int) []byte {
	if !r.e.o.Transactions || r.b.Op(i) == schema.OpRead || r.b.Ordinals == nil || r.tx < 0 {
		return append(dst, "null"...)
	}
	t := txOrigin(r.origin, r.tx)
	dst = transactionName(append(dst, `{"id":"`...), r.e.o.Connector, r.b.Txs[r.tx], r.origin, t)
	dst = strconv.AppendInt(append(dst, `","total_order":`...), int64(r.b.Ordinals[i])+1, 10)
	dst = strconv.AppendInt(append(dst, `,"data_collection_order":`...), t.Before+int64(i-r.txStart)+1, 10)
	return append(dst, '}')
}

// AppendTruncate appends the message of a truncate. tx and origin are those of its
// transaction, position is its own.
func (e *Encoder) AppendTruncate(out *Output, position uint64, tx schema.Tx, origin Origin, now int64) {
	if e.o.skips(Truncate) || e.flat != nil || e.outbox != nil { // a row that is flat has no way to say it
		return
	}
	r := run{e: e, out: out, origin: &origin}
	r.stamp(now)
	e.source.begin(tx, txOrigin(&origin, 0), true)
	p := place{snapshot: e.source.falseness, position: position, last: txOrigin(&origin, 0).LastCommit}
	if !e.source.postgres {
		p.file, p.offset = origin.File(position)
	}
	start := len(out.Data)
	dst := append(append(out.Data, e.valueOpen...), `{"before":null,"after":null,"source":`...)
	dst = append(e.source.append(dst, p), `,"transaction":null,"op":"t","ts_ms":`...)
	out.Data = append(append(append(dst, e.times...), '}'), e.end...)
	headers := r.headers(message{op: Truncate, header: none})
	out.Messages = append(out.Messages, Message{key: none, value: span{start, len(out.Data)}, headers: headers, Row: -1, Operation: Truncate})
}
