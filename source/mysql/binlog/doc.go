// Package binlog follows the binlog of MySQL and MariaDB as groups of Arrow batches,
// and knows positions and sets of GTIDs.
//
//	stream, err := binlog.Open(ctx, binlog.Options{
//		Conn: conn, ServerID: 5400, Heartbeat: 30 * time.Second,
//		ByGTID: true, GTIDs: set, Catalog: catalog, Captured: captured,
//	})
//	if err != nil {
//		return err
//	}
//	defer stream.Close()
//	for group := range stream.Groups() {
//		...
//		group.Release()
//	}
//	return stream.Err()
//
// The way of a change: groupReader takes packets and hands each event to the scanner,
// a pure state machine that follows transactions, positions and definitions and cuts
// groups; decoders in parallel turn the rows of a group into batches (tableDecoder);
// deliver puts the groups in order again.
//
// # Transactions
//
// Groups are cut at commits wherever one is near. A transaction that does not fit into a group
// flows as several ones with InTransaction set; nothing waits for its commit. A compressed
// transaction is unpacked piece by piece. Only XA transactions are held back, see
// [Prepared].
//
// # Limits
//
// Where a change of a foreign key's parent changes rows of its child (ON DELETE
// CASCADE, SET NULL), servers before MySQL 9.6, and MariaDB, log nothing about the child.
// A single event, and a compressed transaction in its packed form, must fit into
// memory; max_allowed_packet bounds both. In row images that leave columns out
// (binlog_row_image MINIMAL, NOBLOB) an update tells what it has; what is missing
// comes from the image before the change, from the sink, or is an error.
package binlog
