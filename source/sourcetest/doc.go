// Package sourcetest is the conformance suite of sources: it runs a real
// database under a workload, takes a source's log into a model, kills and
// restores the reader at checkpoints, and compares the model with the database.
//
//	func TestConformance(t *testing.T) {
//		sourcetest.Run(t, sourcetest.Harness{Open: openDatabase, Backend: memory.NewBackend(...)})
//	}
//
// Beside equality it holds each log to the promises of the source package: a
// read never meets a key that was touched, an event never comes twice or out of
// order, no checkpoint lies inside a transaction, and checkpoints after the
// snapshot show only states that existed.
package sourcetest
