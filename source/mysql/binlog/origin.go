package binlog

import (
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// txOrigin is what is known of a transaction beyond what its rows need. There is one
// where Options.Origin asks for it; it is complete before the transaction's first rows.
type txOrigin struct {
	server    uint32
	gtid      GTID
	thread    uint32
	hasThread bool
}

func (o *txOrigin) schema() schema.TxOrigin {
	if o == nil {
		return schema.TxOrigin{}
	}
	return schema.TxOrigin{ServerID: o.server, GTID: o.gtid.String(), Thread: o.thread, HasThread: o.hasThread}
}

// noteThread notes the connection that executes the transaction; 0 is none.
func (s *scanner) noteThread(thread uint32) {
	if o := s.tx.origin; o != nil && s.inTx && thread != 0 {
		o.thread, o.hasThread = thread, true
	}
}

// rowsQuery takes the statement that makes the rows that follow.
func (s *scanner) rowsQuery(h event.Header, body []byte) error {
	if !s.origins || !s.inTx {
		s.outside()
		return nil
	}
	if s.hold != nil {
		return s.hold.add(h, body)
	}
	if h.Type == event.RowsQueryType { // a byte for its length, which is mostly too small for it
		body = body[min(1, len(body)):]
	}
	sql := string(body)
	s.sqlOfRows = &sql
	return nil
}

// endsStatement reports whether a rows event is the last one of its statement.
func endsStatement(body []byte) bool {
	const flags = 6
	return len(body) > flags && event.RowsFlags(body[flags])&event.RowsStatementEnd != 0
}

// Between names the files that positions from first to last lie in, for an Origin.
func (f Files) Between(first, last uint64) []schema.LogFile {
	var out []schema.LogFile
	for n := first >> offsetBits; n <= last>>offsetBits; n++ {
		out = append(out, schema.LogFile{Start: n << offsetBits, Name: f.Place(n << offsetBits).File})
	}
	return out
}

// LogFiles names the file that a position lies in, for an Origin.
func (f Files) LogFiles(position uint64) []schema.LogFile { return f.Between(position, position) }

// origins gathers what the rows of a batch have of an Origin.
type origins struct {
	txs     []schema.TxOrigin
	rows    []int32
	queries []schema.QueryRun
	asked   bool // there is a statement among queries
}

// add notes a row; begins says that it is the first one of a run of txs.
func (o *origins) add(t *txOrigin, begins bool, number int32, sql *string) {
	if begins {
		o.txs = append(o.txs, t.schema())
	}
	o.rows = append(o.rows, number)
	text := ""
	if sql != nil {
		text, o.asked = *sql, true
	}
	if n := len(o.queries); n > 0 && o.queries[n-1].SQL == text {
		o.queries[n-1].Rows++
		return
	}
	o.queries = append(o.queries, schema.QueryRun{SQL: text, Rows: 1})
}

// take returns the origin of the rows and starts anew.
func (o *origins) take(files []schema.LogFile) *schema.Origin {
	out := &schema.Origin{Txs: o.txs, Rows: o.rows, Files: files}
	if o.asked {
		out.Queries = o.queries
	}
	*o = origins{}
	return out
}
