// Package task runs one subtask: a chain of operators in one goroutine, fed by a
// gate or by a source. It aligns barriers, takes snapshots at the right moment,
// hands them to a Listener for the upload, and turns panics into errors with the
// operator's name. It knows the operators only as Stages and starts no goroutine.
//
//	op := &task.Operator[int]{Base: task.Base{Index: 3, Chain: chain, Listener: l}, Gate: gate, Receive: head.Collect}
//	defer op.Close()
//	if err := op.Open(ctx); err == nil {
//		err = op.Run(ctx) // until ctx is done, an error, or all inputs have ended
//	}
package task
