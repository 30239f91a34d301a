package binlog

import (
	"log/slog"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Options say where a Stream begins and what it gives out.
type Options struct {
	// Conn is an idle session, which Open takes over, also when it fails.
	Conn *wire.Conn
	// ServerID and UUID are who we are among the server's replicas; the server ends
	// an older stream with the same ones.
	ServerID uint32
	UUID     string
	// Heartbeat is how often the server speaks while there is nothing new.
	Heartbeat time.Duration

	// ByGTID begins with everything that is not in GTIDs, else the stream begins at Start.
	ByGTID bool
	GTIDs  *GTIDSet
	Start  Place
	// Files names the positions, as the newest Group had it; its zero value is for a
	// first start, where file numbers are those of the server.
	Files Files
	// Follow: the server is not the one that Files is about, or numbers its files
	// anew. Positions go on behind After.
	Follow bool
	// After is the newest position that was given out before, 0 for none.
	After uint64
	// Prepared are the XA transactions that were prepared at the start.
	Prepared []*Prepared
	// Since, SkipEvents and SkipRows leave out rows at the beginning: of transactions
	// committed before Since, in seconds since 1970; of the first SkipEvents events with rows
	// or statements; then the first SkipRows rows.
	Since                int64
	SkipEvents, SkipRows uint64

	// Catalog is in force at the start.
	Catalog *ddl.Catalog
	// LearnBefore is where the definitions of Catalog were read, if that is behind the
	// start of the stream, else 0. Before it a table whose definition is missing or does
	// not fit its rows is learned from what the log says of it
	// (binlog_row_metadata=FULL, else it is an error); the group that ends there has the effect.
	LearnBefore uint64
	// Captured says which tables are wanted. It is asked once for every definition.
	Captured func(schema.TableID) bool
	// Passed, if not nil, says of a captured table that has no definition, or whose
	// definition is not known, that its rows are passed over; of others they are an error.
	Passed func(schema.TableID) bool
	// Ahead, if not nil, makes the stream one that only looks: no rows are decoded.
	// It is told where a captured table has rows, at least the first time and the first
	// time behind each change of a definition, by the goroutine that reads.
	Ahead func(id schema.TableID, pos uint64)
	// Before, KeylessUpdates, ResolvesUnchanged and Origin are those of source.Needs.
	Before, KeylessUpdates, ResolvesUnchanged, Origin bool
	Values                                            value.Options

	// UnknownXA is asked about an XA COMMIT of a transaction that was prepared
	// before the start, whose rows are not known; its error ends the stream. nil: an
	// error that wraps ErrUnknownXA. It is called from the goroutine that reads.
	UnknownXA func(id string, pos uint64) error
	// gather: see Gather.
	gather      bool
	gatherUntil Place
	// MaxPrepared bounds what prepared XA transactions may take together, packed, in
	// memory and in every checkpoint, in bytes. 0 is DefaultMaxPrepared.
	MaxPrepared int
	// Decoders is the number of goroutines that decode, 0: one a core, four at most.
	Decoders  int
	Allocator memory.Allocator
	Logger    *slog.Logger // may be nil
}

// DefaultMaxPrepared is the usual limit of prepared XA transactions.
const DefaultMaxPrepared = 256 << 20
