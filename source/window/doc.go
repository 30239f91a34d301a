// Package window holds the exact snapshot windows: how the rows of a table,
// read in chunks without a lock, enter the log of its changes so that for every
// key the log holds its row once as read, or its events, in a right order.
//
// It is a step machine without goroutine, clock or connection: a source feeds
// it what happened (an event of the tail, a new tail position, what a new
// SELECT can see, a chunk that was read) and carries out the [Action]s that
// come back. PostgreSQL and MySQL differ in how they find out the inputs only.
//
//	core := window.New(window.Options{MaxOpen: 4, MaxBytes: 64 << 20})
//	t := core.Add(id, true, window.NewMemSet())
//	core.Start(t)                     // events of t go to the log from here
//	core.Visible(snapshot)            // -> ActRead: everything passed is visible
//	c := core.Open(t)                 // a chunk is being read
//	core.Read(t, c, high, bytes)      // it was read; its rows wait for high
//	core.Advance(position)            // -> ActClose: its rows enter, but for those
//	                                  //    whose key Table.Filter drops
//	core.Planned(t)                   // no further chunk -> ActDone
//
// # Why it is exact
//
// Let a table start at tail position P. An event before P was dropped, and its
// transaction is visible to every chunk (cover). An event after P is in the log
// and its key in seen. A chunk sees nothing beyond HIGH and enters once the tail
// has reached it, so whatever it saw and was not dropped has its key in seen: a
// row that enters has not changed between P and its entry.
package window
