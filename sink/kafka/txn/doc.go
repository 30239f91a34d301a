// Package txn is the protocol by which the records of each checkpoint become visible
// in Kafka exactly once. It is pure: inputs in, actions out; no client, clock or
// goroutine. A driver carries the actions out and answers them.
//
//	m := txn.New(txn.Config{Prefix: "shop", Lineage: lineage})
//	actions, err := m.Step(txn.Restore{Restored: true, Checkpoint: 7, Pending: pending, Listed: listed})
//	...                                       // until Ready
//	actions, err = m.Step(txn.Write{})        // Init and Begin, then records may be produced
//	actions, err = m.Step(txn.Prepare{Checkpoint: 8, Position: pos})
//	...                                       // WriteMarker, Flush, Prepared: its Committable goes into the checkpoint
//	actions, err = m.Step(txn.Stored{Checkpoint: 8})
//	...                                       // End, Committed
//
// # The protocol
//
// The records of a checkpoint are one transaction, and in it lies a [Marker]: which
// checkpoint it is and which transaction wrote it. At the barrier the transaction is
// flushed and left open, prepared; the checkpoint holds what is needed to end it
// from anywhere: its transactional id, producer id, epoch, and the version of the
// protocol that it runs under. Once the checkpoint is stored it is ended.
//
//	            Write              Prepare           Stored
//	free ------------------> open ---------> prepared -------> ending ----> free, or stale
//	  ^  Begin                  WriteMarker,          End         | refused     ^
//	  |                         Flush                             v             | marker is ours
//	stale <-- Init                                              reading --------+
//	                                                              | it is not
//	                                                              v
//	                                                           LostError
//
// A restart first fences every id that the broker knows under the prefix but those of prepared transactions, which a fence
// would abort; reads the marker; ends what is prepared and not marked, in order; and
// then fences those ids too. Where a broker refuses to end a transaction, it has
// been ended before, one way or the other: the marker, read by a consumer that sees
// only committed records, says which. Without that it would be a guess.
//
// A transaction that the broker has given up by its time-out, or that somebody has
// fenced, is lost: [LostError]. The pipeline then goes back to the checkpoint before, whose
// log the source has kept, since it is not released before the transaction is
// confirmed.
//
// Under version 1 of the protocol the end of a transaction changes no epoch, so a
// second request to end it would end the next one of the same producer. Hence an id
// is initialised again before each use there. Under version 2 each end raises the epoch.
package txn
