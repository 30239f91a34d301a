// Package pebble keeps keyed state in Pebble, a log-structured merge tree on the
// local disk: state may be larger than memory, and a checkpoint uploads only
// the tables that are new since the one before.
//
//	backend := pebble.NewBackend(pebble.Options{})
//	defer backend.Close()
//	store, err := backend.Open(ctx, state.Options{Dir: dir, KeyGroups: keygroup.Range{First: 0, Last: 127}})
//
// The local folder is scratch: it is emptied when a store is opened, nothing in
// it is read after a crash, so there is no write-ahead log and nothing in it is
// synced. What a checkpoint needs is made durable by state.Files.Put.
//
// A failed write (disk full, I/O error) makes the store fail for good: every later call
// returns the first error. The job restarts from its last checkpoint, which it did not touch.
package pebble
