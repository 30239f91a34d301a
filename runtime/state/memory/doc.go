// Package memory keeps keyed state on the heap, in an ordered tree: the fastest
// for state that is small beside the process's memory. Each checkpoint writes all
// of it, as one sorted file.
//
//	backend := memory.NewBackend(memory.Options{})
//	store, err := backend.Open(ctx, state.Options{Dir: dir, KeyGroups: keygroup.Range{First: 0, Last: 127}})
//
// A snapshot and an iterator share the tree's nodes with the store, which copies
// a node when it first writes to it again: neither stops the world.
package memory
