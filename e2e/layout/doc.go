// Package layout holds the tests that keep the repository in its shape: who may
// import whom, what lies at the top, how large a file may grow, and that what
// README.md tells a reader to run is there.
package layout
