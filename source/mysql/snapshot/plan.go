package snapshot

// aheadRanges is the number of ranges that are kept ready ahead of the readers, and
// the most that one Walk brings. It bounds the plan: a table of any size has no
// longer list than this and the open chunks.
const aheadRanges = 16

// Plan is the snapshot of one table with a key: what was handed out, what has to be
// read (again), and how the rest is split. It is pure: it holds no connection, and
// its JSON is all that a checkpoint needs. A Plan is used by one goroutine.
//
// Only the rows that were there when the plan was made are planned. Rows that came
// behind the last one since have events, so they need not be read.
type Plan struct {
	Key Key `json:"key"`
	// Size is the number of rows that a chunk is wanted to have, Rows what it is to
	// have at present: less where rows are large.
	Size int `json:"size"`
	Rows int `json:"rows"`
	// ChunkBytes bounds the memory of a chunk's rows.
	ChunkBytes int64 `json:"chunkBytes"`
	// Even splits the rest by arithmetic; nil when there is none (left).
	Even *Even `json:"even,omitempty"`
	// Spans are ranges of unknown size, which a walk along the key splits.
	Spans []Range `json:"spans,omitempty"`
	// Ready are ranges that can be read: found by a walk, or given back.
	Ready []Range `json:"ready,omitempty"`
	// Done counts the chunks that have entered the log.
	Done int `json:"done"`
	// Expected is the number of chunks by the server's estimate.
	Expected int `json:"expected"`

	walking bool
}

// Next hands out a range to read; ok is false when none is ready (yet, see More).
func (p *Plan) Next() (r Range, ok bool) {
	if len(p.Ready) > 0 {
		r = p.Ready[0]
		p.Ready = append(p.Ready[:0], p.Ready[1:]...)
		return r, true
	}
	// Where the estimates are wrong every even chunk leaves a rest: those first.
	if p.Even == nil || len(p.Spans) >= aheadRanges {
		return Range{}, false
	}
	r, more := p.Even.next(p.Rows, p.Size)
	if !more {
		p.Even = nil
	}
	return r, true
}

// More reports whether there is something left to hand out, now or after a walk.
func (p *Plan) More() bool { return len(p.Ready) > 0 || p.Even != nil || len(p.Spans) > 0 }

// Back takes back a range that did not enter the log.
func (p *Plan) Back(r Range) { p.Ready = append(p.Ready, r) }

// filled is how full chunks are wanted to be: a chunk that is cut costs two more
// looks at its rows.
const filled = 0.75

// Took notes the outcome of a chunk: what it left unread is planned again, and
// following chunks are as large as fits.
func (p *Plan) Took(c *Chunk) {
	if c.Rest != nil {
		p.Spans = append(p.Spans, *c.Rest)
	}
	if c.Rows == 0 {
		return
	}
	fit := max(float64(c.Rows)*filled*float64(p.ChunkBytes)/float64(max(c.Bytes, 1)), 1)
	p.Rows = int(min(fit, 2*float64(p.Rows), float64(p.Size)))
}

// Clone returns a copy for a checkpoint, to which the ranges of chunks that have
// not entered the log are given Back.
func (p *Plan) Clone() *Plan {
	c := *p
	c.Key.Columns = append([]KeyColumn(nil), p.Key.Columns...)
	c.Spans = append([]Range(nil), p.Spans...)
	c.Ready = append([]Range(nil), p.Ready...)
	c.walking = false
	if p.Even != nil {
		even := *p.Even
		c.Even = &even
	}
	return &c
}

// Chunks estimates how many chunks the whole table has.
func (p *Plan) Chunks() int {
	n := p.Done + len(p.Ready) + len(p.Spans)
	if p.Even != nil {
		n++
	}
	if !p.More() {
		return n
	}
	return max(n, p.Expected)
}

// Walk is the search for the next boundaries in a span.
type Walk struct {
	// Span is what is split, from its beginning, into ranges of Rows rows each.
	Span Range
	Rows int
	// Steps is the number of boundaries that are asked for.
	Steps int
}

// Walk returns the next search, if one is of use. The caller runs it, beside the
// readers, and gives the outcome to Walked before it asks again.
func (p *Plan) Walk() (w Walk, ok bool) {
	if p.walking || len(p.Spans) == 0 || len(p.Ready) > aheadRanges/2 {
		return Walk{}, false
	}
	p.walking = true
	steps := aheadRanges / 2
	if len(p.Ready) == 0 {
		steps = 2 // readers wait
	}
	return Walk{Span: p.Spans[0], Rows: p.Rows, Steps: steps}, true
}

// Walked takes what a Walk has found: bounds in the order of the key, and whether
// the end of the span lies no further than Rows rows behind the last one.
func (p *Plan) Walked(bounds []Bound, end bool) {
	p.walking = false
	span := p.Spans[0]
	for _, b := range bounds {
		p.Ready = append(p.Ready, Range{From: span.From, To: b})
		span.From = b
	}
	if !end {
		p.Spans[0] = span
		return
	}
	p.Ready = append(p.Ready, span)
	p.Spans = append(p.Spans[:0], p.Spans[1:]...)
}
