package snapshot

// minRows is the least number of rows that a plan begins with where the server's
// estimate says that rows are large: it may count what was deleted.
const minRows = 128

// Statistics are what the server knows of a table when its plan is made.
type Statistics struct {
	// Rows and RowBytes are the server's estimates of the number of rows and their mean size.
	Rows, RowBytes int64
	// First and Last are the keys of the first and the last row in the order of the
	// key; both nil for an empty table. Last alone is nil where finding it would
	// take a scan.
	First, Last Bound
	// Empty says that the table has no row.
	Empty bool
}

// Options bound the chunks of a plan.
type Options struct {
	// ChunkRows is the number of rows of a chunk (scan.incremental.snapshot.chunk.size).
	ChunkRows int
	// ChunkBytes bounds the memory of the rows of a chunk; a single row may exceed it.
	ChunkBytes int64
}

// NewPlan plans the snapshot of a table: in even splits where the first key column is a
// whole number and its values are spread over their range well enough, else in one
// span that is to be walked.
func NewPlan(key Key, s Statistics, o Options) *Plan {
	p := &Plan{Key: key, Size: max(o.ChunkRows, 1), ChunkBytes: max(o.ChunkBytes, 1)}
	p.Rows = p.Size
	if s.RowBytes > 0 {
		p.Rows = int(min(int64(p.Size), max(int64(filled*float64(p.ChunkBytes))/s.RowBytes, minRows)))
	}
	p.Expected = int((max(s.Rows, 1) + int64(p.Rows) - 1) / int64(p.Rows))
	if s.Empty {
		p.Expected = 0
		return p
	}
	if c := key.Columns[0]; c.Whole && !c.Prefix && s.First != nil && s.Last != nil && s.Rows > int64(p.Rows) {
		if p.Even = newEven(s.First[0], s.Last[0], s.Rows, p.Size); p.Even != nil {
			return p
		}
	}
	all := Range{To: s.Last}
	if s.Rows <= int64(p.Rows) {
		p.Ready = []Range{all}
	} else {
		p.Spans = []Range{all}
	}
	return p
}
