// Package e2e holds the tests that run the real freshet binary on real servers
// and read the result with software that we didn't write:
//
//   - metamorphic: parallelism, checkpoint interval, state back end and batch sizes
//     do not change the tables;
//   - fault: what goes wrong in practice gets a clear error, or passes, with nothing lost;
//   - start: time to the first committed rows, memory at rest, size of the binary.
//
// The crash runs are e2e/crash, the figures e2e/bench. All of them skip themselves
// unless e2e/run.sh runs them.
package e2e
