package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// tid is the place of a row: its block number, then 16 bits of its number there.
type tid uint64

// blockTID returns the first place of a block.
func blockTID(block int64) tid { return tid(block) << 16 }

// String prints the place as PostgreSQL's type tid reads it.
func (t tid) String() string { return fmt.Sprintf("(%d,%d)", uint64(t)>>16, uint64(t)&0xFFFF) }

// tidRange is a part of one leaf: From <= ctid < To.
type tidRange struct {
	Leaf uint32 `json:"leaf"` // oid
	From tid    `json:"from"`
	To   tid    `json:"to"`
}

// chunkBytes bounds the heap that a chunk covers, and what is kept of it in
// memory: 8 MiB are some ten milliseconds of reading, so that two readers and
// twice as many chunks that wait stay far below 100 MiB.
const chunkBytes = 8 << 20

// leafPlan is how far the snapshot of one leaf (a partition, or a table itself) is.
type leafPlan struct {
	OID    uint32 `json:"oid"`
	Schema string `json:"schema"`
	Name   string `json:"name"`
	// FileNode is that of the first look: with another one the rows have moved,
	// and the ranges mean nothing any more.
	FileNode uint32 `json:"fileNode"`
	// Blocks is the size after the cover was met. Rows that came into later
	// blocks have events, so they need not be read.
	Blocks int64 `json:"blocks"`
	// Next is the first block that was not handed out.
	Next int64 `json:"next"`
	// Width is the number of blocks of a chunk.
	Width int64 `json:"width"`
	// Toast: values may lie outside the blocks, so the size of a chunk is not
	// known before it is read.
	Toast bool `json:"toast,omitempty"`
}

// plan is the snapshot of one table: which ranges were handed out, and which of
// those have to be read (again).
type plan struct {
	Leaves []leafPlan `json:"leaves"`
	// Again are ranges that were handed out and given back: open ones at a
	// checkpoint, or the rest of a chunk that grew too large.
	Again []tidRange `json:"again,omitempty"`
	// Done counts the chunks that have entered the log.
	Done int `json:"done"`
}

// next hands out a range to read; ok is false when there is none left.
func (p *plan) next() (r tidRange, ok bool) {
	if n := len(p.Again); n > 0 {
		r = p.Again[n-1]
		p.Again = p.Again[:n-1]
		return r, true
	}
	for i := range p.Leaves {
		l := &p.Leaves[i]
		if l.Next < l.Blocks {
			r = tidRange{Leaf: l.OID, From: blockTID(l.Next), To: blockTID(min(l.Next+l.Width, l.Blocks))}
			l.Next = min(l.Next+l.Width, l.Blocks)
			return r, true
		}
	}
	return tidRange{}, false
}

// more reports whether next has something to hand out.
func (p *plan) more() bool {
	if len(p.Again) > 0 {
		return true
	}
	for i := range p.Leaves {
		if p.Leaves[i].Next < p.Leaves[i].Blocks {
			return true
		}
	}
	return false
}

// back takes a range back that did not enter the log.
func (p *plan) back(r tidRange) { p.Again = append(p.Again, r) }

// leaf returns the leaf called oid, or nil.
func (p *plan) leaf(oid uint32) *leafPlan {
	for i := range p.Leaves {
		if p.Leaves[i].OID == oid {
			return &p.Leaves[i]
		}
	}
	return nil
}

// chunks estimates how many chunks the whole table has.
func (p *plan) chunks() int {
	n := 0
	for _, l := range p.Leaves {
		n += int((l.Blocks + l.Width - 1) / l.Width)
	}
	return n
}

// width returns the number of blocks that hold about rows rows, bounded by
// chunkBytes. The server's estimates may be missing or old.
func width(rows int, pages int64, tuples float64, blockSize int64) int64 {
	most := max(chunkBytes/blockSize, 1)
	if pages <= 0 || tuples <= 0 || rows <= 0 {
		return most
	}
	perBlock := tuples / float64(pages)
	return min(max(int64(float64(rows)/perBlock), 1), most)
}

// copyStatement returns the COPY of one range of a leaf.
func copyStatement(t *schema.Table, leaf *leafPlan, r tidRange) string {
	var b strings.Builder
	b.WriteString("COPY (SELECT ")
	if leaf.Toast {
		b.WriteString("ctid, ")
	}
	writeColumns(&b, t)
	b.WriteString(" FROM ONLY " + quoteIdent(leaf.Schema) + "." + quoteIdent(leaf.Name))
	fmt.Fprintf(&b, " WHERE ctid >= '%s' AND ctid < '%s') TO STDOUT (FORMAT binary)", r.From, r.To)
	return b.String()
}

// writeColumns writes the select list that copyDecoder expects.
func writeColumns(b *strings.Builder, t *schema.Table) {
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		if copyInBinary(c) {
			b.WriteString(quoteIdent(c.Name))
			continue
		}
		// The type's output function, which the log uses too; a cast to text prints some
		// types otherwise (inet gets its /32). IS DISTINCT FROM, because a composite of
		// NULLs is no NULL.
		fmt.Fprintf(b, "CASE WHEN %[1]s IS DISTINCT FROM NULL THEN format('%%s', %[1]s) END", quoteIdent(c.Name))
	}
}

// beginChunk returns the statements that open a chunk's transaction and answer
// its HIGH and the leaf's file. The lock comes first: from then on the file stays.
// HIGH is asked for in the statement that opens the snapshot, so it lies behind
// everything that the snapshot sees.
func beginChunk(leaf *leafPlan, snapshot string) string {
	var b strings.Builder
	b.WriteString("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ")
	if snapshot != "" {
		b.WriteString("SET TRANSACTION SNAPSHOT " + quoteLiteral(snapshot) + "; ")
	}
	b.WriteString("SET LOCAL enable_seqscan = off; ")
	b.WriteString("LOCK TABLE ONLY " + quoteIdent(leaf.Schema) + "." + quoteIdent(leaf.Name) + " IN ACCESS SHARE MODE; ")
	b.WriteString("SELECT pg_current_wal_insert_lsn()::text, coalesce(pg_relation_filenode(" + strconv.FormatUint(uint64(leaf.OID), 10) + "), 0)::text, " +
		"coalesce((SELECT oid FROM pg_class WHERE oid = " + quoteLiteral(quoteIdent(leaf.Schema)+"."+quoteIdent(leaf.Name)) + "::regclass), 0)::text, pg_snapshot_xmax(pg_current_snapshot())::text")
	return b.String()
}
