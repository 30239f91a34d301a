package main

import (
	"context"
	"time"
)

// database is what a group measures: a server that holds the table orders. Floors
// and freshet read the same one, over TCP without TLS.
type database interface {
	// describe names the server and its version.
	describe() string
	// fill makes the rows 1 to n.
	fill(ctx context.Context, rows int) error
	// scanFloor times a client that reads the table to nothing.
	scanFloor(ctx context.Context) (time.Duration, error)
	// writeBacklog commits single-row statements in transactions of 100: 50 updates of
	// spread-out rows, 30 inserts behind the last id, 20 deletes from the first id on.
	writeBacklog(ctx context.Context, changes, rows int) error
	// logFloor times a client that reads the log of the backlog to nothing; it can be
	// called as often as logFloors says.
	logFloor(ctx context.Context) (time.Duration, error)
	// statement runs one statement, which is a transaction.
	statement(ctx context.Context, sql string) error
	// source is the address for a pipeline, its selector, and options beside.
	source() (url, tables string, options map[string]string)
	// cpu is the CPU time that the server has used for ended and running connections.
	cpu(ctx context.Context) time.Duration
	close()
}

// logFloors is how many times the floor of the log is timed.
const logFloors = 2
