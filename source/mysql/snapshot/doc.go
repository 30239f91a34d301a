// Package snapshot reads the rows of a table, in chunks and without a lock, so that
// the window core (source/window) can put them into the log of its changes.
//
// A table with a key is read in ranges of it. A [Plan] says which; it is pure, goes
// into a checkpoint as JSON and stays small for a table of any size, because
// boundaries are found while reading goes on. Values of a key are never compared
// here, only by the server: they are kept as SQL literals.
//
//	r := snapshot.NewReader(connect, snapshot.Settings{Values: values})
//	defer r.Close()
//	err := r.Cover(ctx, tail)                    // what the tail has passed is visible
//	plan, err := r.Plan(ctx, table, options)
//	for plan.More() {
//		if w, ok := plan.Walk(); ok {            // beside the readers
//			bounds, end, err := r.Walk(ctx, table, &plan.Key, w)
//			plan.Walked(bounds, end)
//		}
//		if rg, ok := plan.Next(); ok {
//			c := r.Read(ctx, plan.Job(table, rg)) // c.High, c.Records, c.Err
//			plan.Took(c)
//		}
//	}
//
// # Why it is exact
//
// A chunk's transaction opens its read view first and reads the binlog's end last, with
// the table's definition locked in between: whatever it saw, changes of the
// definition too, lies before High, because the server writes the binlog before a
// commit becomes visible. Rows that came behind the last one since the plan was made
// need not be read: they have events behind the place where the table started.
//
// The engine must have read views that span a transaction (InnoDB, MyRocks).
//
// # Tables without a key
//
// They are read in one read view, in one SELECT, which lasts as long as the table is
// large: undo logs grow meanwhile, and an ALTER of the table waits for its end, and
// whoever uses the table waits for the ALTER. See [Reader.OpenView].
package snapshot
