// Package exchange moves elements between the goroutines of subtasks: one
// bounded queue for each pair of a producer and a consumer, with marks (barriers,
// the end of the stream) between the elements.
//
// Elements travel in batches that nobody has to cut: a producer appends to its
// queue, and the consumer takes all that has gathered there in one go. A consumer
// that waits is woken by the first element, so nothing lies around while there is
// nothing else to do, and there is no timeout; one that is busy finds a batch.
//
//	gate := exchange.NewGate[int](1, exchange.Limits{})
//	gate.Writer(0).Put(ctx, 42)               // the producer's goroutine
//	gate.Writer(0).Mark(exchange.Mark{Kind: exchange.End})
//	for {                                     // the consumer's goroutine
//		in := gate.Poll()
//		if in == nil {
//			if err := gate.Wait(ctx); err != nil {
//				return err
//			}
//			continue
//		}
//		for elem, ok := in.Take(); ok; elem, ok = in.Take() {
//			use(elem)
//		}
//		if mark, ok := in.TakeMark(); ok && mark.Kind == exchange.End {
//			return nil
//		}
//	}
package exchange
