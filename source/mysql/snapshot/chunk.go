package snapshot

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/schema"
)

// Job is one range of a table to read.
type Job struct {
	Table *schema.Table
	Key   *Key
	Range Range
	// Only, when set, are conditions of single rows (see RowCondition), which are read
	// instead of a range.
	Only []string
	// Rows is the most rows that are read, and Bytes the memory from which on no
	// further row is taken. What is left is Chunk.Rest.
	Rows  int
	Bytes int64
}

// Chunk is what was read for a Job.
type Chunk struct {
	Job Job
	// High covers everything that the read could see. It is zero only where Err says
	// that the server could not be asked.
	High Place
	// Records are the rows, in the order of the key; the receiver releases them.
	// Rows is their number, Bytes their memory.
	Records []arrow.RecordBatch
	Rows    int
	Bytes   int64
	// ReadTime is when the read view was opened, in microseconds since 1970.
	ReadTime int64
	// Rest is what was left unread because there was more than the job allows.
	Rest *Range
	// Left are those of Job.Only that were left for the same reason.
	Left []string
	// Err is nil, or ErrStale, or a *TableError.
	Err error
}

// Range returns the range that the rows are all rows of.
func (c *Chunk) Range() Range {
	r := c.Job.Range
	if c.Rest != nil {
		r.To = c.Rest.From
	}
	return r
}

// Release gives back the rows of a chunk that does not enter the log.
func (c *Chunk) Release() {
	for _, r := range c.Records {
		r.Release()
	}
	c.Records = nil
}

// Job returns the job of a range that Next has handed out. More rows than planned are
// taken, because estimates are rough and rows are inserted, but not any number.
func (p *Plan) Job(table *schema.Table, r Range) Job {
	return Job{Table: table, Key: &p.Key, Range: r, Rows: 2 * p.Rows, Bytes: p.ChunkBytes}
}
