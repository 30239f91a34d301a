// Package producer carries the protocol of [txn] out on a cluster, with franz-go.
//
//	p, err := producer.Open(ctx, producer.Config{Options: opts, Prefix: "shop", Lineage: lineage, Markers: "shop.markers"}, restore)
//	err = p.Produce(ctx, record)               // into the open transaction, which it begins
//	pending, err := p.Prepare(ctx, 8, position) // at the barrier: flushed, and not visible
//	err = p.Commit(ctx, 8)                      // once checkpoint 8 is stored: visible
//
// Several goroutines may call Produce, but none while Prepare runs; Commit may run beside
// Produce.
//
// Each transactional id has a client of its own. Transactions of a process that is
// gone are ended by a client without an id, by the numbers in the checkpoint.
package producer
