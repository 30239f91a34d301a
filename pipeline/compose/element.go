package compose

import (
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// element is what crosses the exchange to the writers.
type element struct {
	sink.Input
	// owners has the writer subtask of each row; nil where the whole batch goes
	// to one. It is valid only until the element was routed.
	owners []uint16
	// rowBytes is the mean size of a row in memory.
	rowBytes int
}

// rows returns the number of rows that are meant.
func (e element) rows() int {
	switch {
	case e.Batch == nil:
		return 0
	case e.Select != nil:
		return len(e.Select)
	}
	return e.Batch.Rows()
}

// Weight lets the queues be bounded in bytes and the metrics count rows.
func (e element) Weight() (records, bytes int) {
	n := e.rows()
	return n, n * e.rowBytes
}

// meanRowBytes returns the mean size of a row of b in memory.
func meanRowBytes(b *schema.Batch) int {
	bytes := schema.RecordBytes(b.Record)
	if b.Before != nil {
		bytes += schema.RecordBytes(b.Before)
	}
	return int(bytes)/max(b.Rows(), 1) + 1
}
