// Package sinktest is the conformance suite of sinks: it drives writers and the
// committer through the contract of package sink, with random rows, schema changes,
// truncates, crashes and restores, and compares what the sink holds with a model.
//
//	func TestConformance(t *testing.T) {
//		sinktest.Run(t, sinktest.Config{New: func(t *testing.T, dir string, changelog bool) sink.Sink {
//			...
//		}})
//	}
package sinktest
