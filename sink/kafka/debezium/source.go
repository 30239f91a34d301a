package debezium

import (
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// sourceBlock prints source blocks. What rows of one transaction have in common is
// printed once.
type sourceBlock struct {
	postgres  bool
	falseness string // the snapshot field of what is no read
	queries   bool   // statements are printed
	open      []byte // up to the time
	middle    []byte // from the database to the time in microseconds
	table     []byte // from the table on

	// Of the present transaction:
	times, head, tail []byte
}

func newSourceBlock(o *Options, id schema.TableID) sourceBlock {
	s := sourceBlock{postgres: o.Connector == PostgreSQL, falseness: `"false"`, queries: o.Query}
	if o.KeepNulls { // "false" is the field's default
		s.falseness = "null"
	}
	s.open = appendString([]byte(`{"version":`), o.Version)
	s.open = appendString(append(s.open, `,"connector":`...), string(o.Connector))
	s.open = appendString(append(s.open, `,"name":`...), o.Prefix)
	s.open = append(s.open, `,"ts_ms":`...)
	s.middle = appendString([]byte(`,"db":`), o.database(id))
	s.middle = append(s.middle, `,"sequence":`...)
	if s.postgres {
		s.table = appendString(append(s.table, `,"schema":`...), id.Schema)
	}
	s.table = appendString(append(s.table, `,"table":`...), id.Table)
	return s
}

// begin takes up a transaction; read: its rows are reads.
func (s *sourceBlock) begin(tx schema.Tx, t *schema.TxOrigin, read bool) {
	micros := tx.CommitTime
	s.head = strconv.AppendInt(append(s.head[:0], s.open...), javatext.FloorDiv(micros, 1000), 10)
	s.head = append(s.head, `,"snapshot":`...)
	s.times = strconv.AppendInt(append(s.times[:0], `,"ts_us":`...), micros, 10)
	s.times = strconv.AppendInt(append(s.times, `,"ts_ns":`...), micros*1000, 10)
	s.times = append(s.times, s.table...)
	s.tail = s.tail[:0]
	if s.postgres {
		s.times = strconv.AppendUint(append(s.times, `,"txId":`...), max(tx.ID, t.Snapshot), 10)
		s.tail = append(s.tail, `,"xmin":null,"origin":`...)
		if t.Replicated == "" {
			s.tail = append(s.tail, `null,"origin_lsn":null}`...)
		} else {
			s.tail = appendString(s.tail, t.Replicated)
			s.tail = append(strconv.AppendUint(append(s.tail, `,"origin_lsn":`...), t.ReplicatedLSN, 10), '}')
		}
		return
	}
	s.times = strconv.AppendUint(append(s.times, `,"server_id":`...), uint64(t.ServerID), 10)
	s.times = appendOptional(append(s.times, `,"gtid":`...), t.GTID)
	s.tail = append(s.tail, `,"thread":`...)
	if t.HasThread && !read {
		s.tail = strconv.AppendUint(s.tail, uint64(t.Thread), 10)
	} else {
		s.tail = append(s.tail, "null"...)
	}
	s.tail = append(s.tail, `,"query":`...)
}

func appendOptional(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}

// place is where a row lies.
type place struct {
	snapshot string // its JSON
	position uint64
	last     uint64 // the commit before, PostgreSQL
	file     string
	offset   uint64
	row      int32
	query    string
}

// append prints the block of a row of the present transaction.
func (s *sourceBlock) append(dst []byte, p place) []byte {
	dst = append(append(dst, s.head...), p.snapshot...)
	dst = append(dst, s.middle...)
	if !s.postgres {
		dst = append(append(dst, "null"...), s.times...)
		dst = appendString(append(dst, `,"file":`...), p.file)
		dst = strconv.AppendUint(append(dst, `,"pos":`...), p.offset, 10)
		dst = strconv.AppendInt(append(dst, `,"row":`...), int64(p.row), 10)
		return append(appendOptional(append(dst, s.tail...), p.query), '}')
	}
	dst = append(dst, `"[`...)
	if p.last == 0 {
		dst = append(dst, `null,\"`...)
	} else {
		dst = strconv.AppendUint(append(dst, `\"`...), p.last, 10)
		dst = append(dst, `\",\"`...)
	}
	dst = append(strconv.AppendUint(dst, p.position, 10), `\"]"`...)
	dst = append(dst, s.times...)
	dst = strconv.AppendUint(append(dst, `,"lsn":`...), p.position, 10)
	return append(dst, s.tail...)
}

// sourceType is the schema of the block.
func sourceType(o *Options) connectType {
	optional := func(t connectType) connectType { t.optional = true; return t }
	snapshot := named("string", "io.debezium.data.Enum", param{"allowed", "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"})
	snapshot.optional, snapshot.def = true, []byte(`"false"`)
	text, long := plain("string"), plain("int64")
	t := named("struct", "io.debezium.connector."+string(o.Connector)+".Source")
	t.fields = []connectField{{"version", text}, {"connector", text}, {"name", text}, {"ts_ms", long}, {"snapshot", snapshot},
		{"db", text}, {"sequence", optional(text)}, {"ts_us", optional(long)}, {"ts_ns", optional(long)}}
	if o.Connector == PostgreSQL {
		t.fields = append(t.fields, []connectField{{"schema", text}, {"table", text}, {"txId", optional(long)}, {"lsn", optional(long)},
			{"xmin", optional(long)}, {"origin", optional(text)}, {"origin_lsn", optional(long)}}...)
		return t
	}
	t.fields = append(t.fields, []connectField{{"table", optional(text)}, {"server_id", long}, {"gtid", optional(text)}, {"file", text},
		{"pos", long}, {"row", plain("int32")}, {"thread", optional(long)}, {"query", optional(text)}}...)
	return t
}
