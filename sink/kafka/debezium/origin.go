package debezium

import (
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
)

// Origin is what a source block says of rows beyond what a schema.Batch carries in its
// other fields. What is not known is null, or zero.
type Origin = schema.Origin

var snapshotNames = [...]string{
	schema.SnapshotTrue: `"true"`, schema.SnapshotFirst: `"first"`, schema.SnapshotFirstInTable: `"first_in_data_collection"`,
	schema.SnapshotLastInTable: `"last_in_data_collection"`, schema.SnapshotLast: `"last"`, schema.SnapshotIncremental: `"incremental"`,
}

var (
	noOrigin Origin
	noTx     schema.TxOrigin
)

// txOrigin returns what is known of transaction n.
func txOrigin(o *Origin, n int) *schema.TxOrigin {
	if n >= 0 && n < len(o.Txs) {
		return &o.Txs[n]
	}
	return &noTx
}

// transactionName appends the name that a transaction has in transaction blocks.
func transactionName(dst []byte, c Connector, tx schema.Tx, o *Origin, t *schema.TxOrigin) []byte {
	switch {
	case c == PostgreSQL:
		dst = append(strconv.AppendUint(dst, tx.ID, 10), ':')
		return strconv.AppendUint(dst, tx.Commit, 10)
	case t.GTID != "":
		return append(dst, t.GTID...)
	}
	file, offset := o.File(tx.Commit)
	dst = append(append(append(dst, "file="...), file...), ",pos="...)
	return strconv.AppendUint(dst, offset, 10)
}
