package schema

// Origin is what a source's log tells of the rows of a [Batch] beyond what every sink
// needs: formats such as Debezium's print it. It is there where the sink asked for it
// (source.Needs.Origin), is immutable once sent, and costs by the batch, the transaction
// and the statement, not by the row. What a source does not know is zero.
type Origin struct {
	// Txs has an entry for each of Batch.Txs.
	Txs []TxOrigin
	// Files name the stretches of the log that positions of the batch lie in, in order
	// (MySQL, MariaDB).
	Files []LogFile
	// Rows has each row's number within its event of the log (MySQL, MariaDB); nil for reads.
	Rows []int32
	// Queries are the statements that made the rows, run-length encoded in row order,
	// where the server logs them; else nil.
	Queries []QueryRun
	// First and Last are where the first and the last row of a batch of reads stand in
	// the snapshot; rows between them are [SnapshotTrue]. Of a single row First counts.
	First, Last SnapshotPlace
}

// TxOrigin is what is known of a transaction.
type TxOrigin struct {
	// Before is how many rows of the table the transaction had before these.
	Before int64

	// ServerID is the server that executed the transaction, GTID its name there, empty
	// for none (MySQL, MariaDB).
	ServerID uint32
	GTID     string
	// Thread is the connection that executed it; HasThread says that it is known.
	Thread    uint32
	HasThread bool

	// LastCommit is the position of the commit before it (PostgreSQL), 0 for none.
	LastCommit uint64
	// Replicated is where the transaction was replicated from, ReplicatedLSN its
	// position there (PostgreSQL); empty for none.
	Replicated    string
	ReplicatedLSN uint64
	// Snapshot is the number of the transaction that read the rows (PostgreSQL), of reads.
	Snapshot uint64
}

// LogFile is a file of the log.
type LogFile struct {
	// Start is the position at which the file begins: an offset in it is a position less Start.
	Start uint64
	Name  string
}

// QueryRun is a run of rows that one statement made.
type QueryRun struct {
	SQL  string // empty where it is not known
	Rows int
}

// SnapshotPlace is where in a snapshot a row stands.
type SnapshotPlace uint8

// The places in a snapshot.
const (
	SnapshotTrue         SnapshotPlace = iota // anywhere else
	SnapshotFirst                             // the first row of all
	SnapshotFirstInTable                      // the first of a table
	SnapshotLastInTable                       // the last of a table
	SnapshotLast                              // the last of all
	SnapshotIncremental                       // of a table that is read while others are followed
)

// File returns the file and the offset in it of a position, and nothing where it is
// not known.
func (o *Origin) File(position uint64) (name string, offset uint64) {
	for i := len(o.Files) - 1; i >= 0; i-- {
		if f := &o.Files[i]; position >= f.Start {
			return f.Name, position - f.Start
		}
	}
	return "", position
}

// Join makes First and Last agree in a batch of n rows: where there is a single one, it
// has the place that says more.
func (o *Origin) Join(n int) {
	if n != 1 {
		return
	}
	if o.Last == SnapshotLast || o.First == SnapshotTrue || o.First == SnapshotFirstInTable && o.Last != SnapshotTrue {
		o.First = o.Last
	}
	o.Last = o.First
}

// At returns where row i of n reads stands.
func (o *Origin) At(i, n int) SnapshotPlace {
	switch i {
	case 0:
		return o.First
	case n - 1:
		return o.Last
	}
	return SnapshotTrue
}

// slice returns the origin of rows from start to end of n, whose transactions are txs;
// all are those of the whole batch.
func (o *Origin) slice(start, end, n int, all, txs []Tx) *Origin {
	out := &Origin{Files: o.Files}
	if o.Rows != nil {
		out.Rows = o.Rows[start:end]
	}
	if start == 0 {
		out.First = o.First
	}
	if end == n {
		out.Last = o.Last
	}
	out.Join(end - start)
	out.Queries = sliceQueries(o.Queries, start, end)
	if len(o.Txs) != len(all) {
		return out
	}
	out.Txs = make([]TxOrigin, 0, len(txs))
	row := 0
	for i, tx := range all {
		if from, to := max(row, start), min(row+tx.Rows, end); from < to {
			t := o.Txs[i]
			t.Before += int64(from - row)
			out.Txs = append(out.Txs, t)
		}
		row += tx.Rows
	}
	return out
}

func sliceQueries(runs []QueryRun, start, end int) (out []QueryRun) {
	row := 0
	for _, q := range runs {
		if from, to := max(row, start), min(row+q.Rows, end); from < to {
			out = append(out, QueryRun{SQL: q.SQL, Rows: to - from})
		}
		row += q.Rows
	}
	return out
}
