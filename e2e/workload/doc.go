// Package workload changes a PostgreSQL, MySQL or MariaDB database in a way that
// shows afterwards whether a copy of it lost, doubled or tore anything.
//
// Five tables are written in transactions that keep invariants across tables:
//
//   - accounts, ledger, progress: a transfer changes two balances, adds a numbered
//     ledger row and bumps the worker's row of progress. So the sum of all balances
//     never changes, each balance follows from the ledger, and progress counts the ledger.
//   - documents: inserts, updates (with and without its wide column), deletes,
//     inserts of deleted keys and changes of the key, in assorted types; the version
//     of a key counts up by one with each change and is never used twice.
//   - events: no primary key; numbered and checksummed inserts, counted by progress.
//
// Some transactions are rolled back, as a whole or to a savepoint, and some are
// large. The same seed makes the same statements in each worker; how the workers
// interleave is the server's business. A worker whose server goes away waits for
// it, and finds out by its row of progress whether its transaction was committed.
//
//	w, _ := workload.New(url, workload.Config{Seed: 1})
//	_ = w.Create(ctx)
//	n, err := w.Run(ctx, 100_000)
package workload
