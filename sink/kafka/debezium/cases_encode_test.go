package debezium_test

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
)

// caseEncoder makes the messages of a case out of the log of a source.
type caseEncoder struct {
	c        debeziumCase
	s        server
	schemas  bool
	encoders map[*schema.Table]*debezium.Encoder
	out      []record
	err      error

	// With transaction metadata:
	tx          *debezium.Transactions
	current     uint64 // the position of the present transaction's commit
	collections []debezium.Count
}

var outside = regexp.MustCompile(`[^A-Za-z0-9._-]`)

func (e *caseEncoder) topic(id schema.TableID) string {
	id = e.s.id(id)
	return outside.ReplaceAllString(e.c.properties["topic.prefix"]+"."+id.Schema+"."+id.Table, "_")
}

func (e *caseEncoder) encoder(t *schema.Table) *debezium.Encoder {
	if enc := e.encoders[t]; enc != nil {
		return enc
	}
	o := e.c.options(e.schemas)
	for _, rule := range strings.Split(e.c.properties["message.key.columns"], ";") {
		table, columns, _ := strings.Cut(rule, ":")
		id := e.s.id(t.ID)
		if rule != "" && regexp.MustCompile("^("+table+")$").MatchString(id.Schema+"."+id.Table) {
			o.KeyColumns = strings.Split(columns, ",")
		}
	}
	enc, err := debezium.New(t.WithID(e.s.id(t.ID)), e.topic(t.ID), o)
	if err != nil {
		e.err = err
		return nil
	}
	e.encoders[t] = enc
	return enc
}

// encode makes the messages: the reads of all tables first, in Debezium's order.
func encode(c debeziumCase, s server, l *log, schemas bool) ([]record, error) {
	e := &caseEncoder{c: c, s: s, schemas: schemas, encoders: map[*schema.Table]*debezium.Encoder{}}
	reads := map[string][]*schema.Batch{}
	var tables []string
	for _, el := range l.elements {
		if b := el.Batch; b != nil && b.Ops == nil && b.Table.ID.Table != endTable {
			name := e.topic(b.Table.ID)
			if reads[name] == nil {
				tables = append(tables, name)
			}
			reads[name] = append(reads[name], b)
		}
	}
	for n, name := range sortedTables(tables) {
		for i, b := range reads[name] {
			e.batch(b, places(b.Rows(), n == 0 && i == 0, i == 0, i == len(reads[name])-1, n == len(tables)-1))
		}
	}
	if c.properties["provide.transaction.metadata"] == "true" {
		if e.tx, e.err = debezium.NewTransactions(c.options(schemas)); e.err != nil {
			return nil, e.err
		}
		e.transactions(l)
		return e.out, e.err
	}
	for _, el := range l.elements {
		switch {
		case e.err != nil:
			return nil, e.err
		case el.Batch != nil && el.Batch.Ops != nil && el.Batch.Table.ID.Table != endTable:
			e.batch(el.Batch, nil)
		case el.Change != nil && el.Change.Kind == schema.ChangeTruncate:
			e.truncate(el.Change)
		}
	}
	return e.out, e.err
}

// transaction ends the present transaction and begins another one, none for 0.
func (e *caseEncoder) transaction(commit uint64) {
	if e.tx == nil || commit == e.current {
		return
	}
	var out debezium.Output
	if e.current != 0 {
		e.tx.End(&out, "0", e.collections, 0)
	}
	if commit != 0 {
		e.tx.Begin(&out, "0", 0)
	}
	e.current, e.collections = commit, nil
	e.take(e.c.properties["topic.prefix"]+".transaction", &out)
}

// changedRow is a row of a batch.
type changedRow struct {
	b    *schema.Batch
	row  int32
	tx   schema.Tx
	name string
}

// transactions makes the messages of changes with the metadata of transactions, row by
// row in the order of the log.
func (e *caseEncoder) transactions(l *log) {
	var rows []changedRow
	for _, el := range l.elements {
		b := el.Batch
		if b == nil || b.Ops == nil || b.Table.ID.Table == endTable {
			continue
		}
		id := e.s.id(b.Table.ID)
		for _, tx := range b.Txs {
			for range tx.Rows {
				rows = append(rows, changedRow{b, int32(len(rows)), tx, id.Schema + "." + id.Table})
			}
		}
		for i := range b.Rows() { // numbered within the batch
			rows[len(rows)-b.Rows()+i].row = int32(i)
		}
	}
	slices.SortStableFunc(rows, func(a, b changedRow) int {
		return cmp.Or(cmp.Compare(a.tx.Commit, b.tx.Commit), cmp.Compare(a.b.Ordinals[a.row], b.b.Ordinals[b.row]))
	})
	for _, r := range rows {
		e.transaction(r.tx.Commit)
		n := slices.IndexFunc(e.collections, func(c debezium.Count) bool { return c.Collection == r.name })
		if n < 0 {
			n = len(e.collections)
			e.collections = append(e.collections, debezium.Count{Collection: r.name})
		}
		e.collections[n].Events++
		origin := e.origin(r.b)
		origin.Orders = make([]debezium.Order, r.b.Rows())
		origin.Orders[r.row] = debezium.Order{Total: int64(r.b.Ordinals[r.row]) + 1, Collection: e.collections[n].Events}
		origin.Txs = origin.Txs[:0]
		for range r.b.Txs {
			origin.Txs = append(origin.Txs, debezium.TxOrigin{ID: "0", ServerID: 1, GTID: "0", HasThread: true})
		}
		e.append(r.b, []int32{r.row}, origin)
	}
	e.transaction(0)
}

// places says where rows of a snapshot stand.
func places(n int, first, firstBatch, lastBatch, lastTable bool) []debezium.SnapshotPlace {
	out := make([]debezium.SnapshotPlace, n)
	if n == 0 {
		return out
	}
	if firstBatch {
		out[0] = debezium.SnapshotFirstInTable
	}
	if lastBatch {
		out[n-1] = debezium.SnapshotLastInTable
	}
	if first {
		out[0] = debezium.SnapshotFirst
	}
	if lastBatch && lastTable {
		out[n-1] = debezium.SnapshotLast
	}
	return out
}

func (e *caseEncoder) origin(b *schema.Batch) debezium.Origin {
	var o debezium.Origin
	if e.c.server == "mysql" && b.Ops != nil {
		for range b.Txs {
			o.Txs = append(o.Txs, debezium.TxOrigin{ServerID: 1, GTID: "0", HasThread: true})
		}
	}
	return o
}

func (e *caseEncoder) batch(b *schema.Batch, places []debezium.SnapshotPlace) {
	origin := e.origin(b)
	origin.Snapshot = places
	e.append(b, nil, origin)
}

func (e *caseEncoder) append(b *schema.Batch, selected []int32, origin debezium.Origin) {
	enc := e.encoder(b.Table)
	if e.err != nil {
		return
	}
	var out debezium.Output
	if e.err = enc.Append(&out, b, selected, origin, 0); e.err == nil {
		e.take(e.topic(b.Table.ID), &out)
	}
}

func (e *caseEncoder) truncate(c *schema.Change) {
	enc := e.encoder(c.Before)
	if e.err != nil {
		return
	}
	var o debezium.Origin
	if e.c.server == "mysql" {
		o.Txs = []debezium.TxOrigin{{ServerID: 1, GTID: "0"}}
	}
	var out debezium.Output
	enc.AppendTruncate(&out, 0, schema.Tx{}, o, 0)
	e.take(e.topic(c.Before.ID), &out)
}

func (e *caseEncoder) take(topic string, out *debezium.Output) {
	for i := range out.Messages {
		r := record{Topic: topic, Key: "null", Value: "null"}
		if k := out.Key(i); k != nil {
			r.Key = rawText(slices.Clone(k))
		}
		if v := out.Value(i); v != nil {
			r.Value = rawText(mask(v))
		}
		for _, h := range out.Headers(nil, i) {
			r.Headers = append(r.Headers, map[string]rawText{h.Key: rawText(slices.Clone(h.Value))})
		}
		e.out = append(e.out, r)
	}
}
