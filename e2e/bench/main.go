// Command bench measures freshet beside the floor: what the same server delivers
// on the same machine to a reader that throws everything away. Each name is a
// group of figures, printed a line a figure:
//
//	bench NAME: X rows/s, floor Y rows/s, ratio R, cpu S s, peak M MiB
//
// X counts from the launch of the process to its exit, so that start, connecting,
// committing and stopping are in it; cpu and peak are those of the freshet process.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// group is what a name of bench.sh stands for: what starts its database, and what is
// measured once that holds the table.
type group struct {
	start   func(ctx context.Context, c config) (database, error)
	measure func(ctx context.Context, b *bench) error
}

// groups are the groups by their names.
var groups = map[string]group{
	"postgres-iceberg": {startPostgres, measureIceberg},
	"mysql-iceberg":    {startMySQL, measureIceberg},
	"postgres-kafka":   {startPostgres, measureKafka},
	"mysql-kafka":      {startMySQL, measureKafka},
}

// groupNames lists them for messages.
const groupNames = "postgres-iceberg, mysql-iceberg, postgres-kafka, mysql-kafka"

// config is the environment's say.
type config struct {
	rows, changes int
	server        string
	keep          bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, names []string) int {
	if len(names) == 0 {
		fmt.Fprintln(os.Stderr, "bench: name at least one group: "+groupNames)
		return 2
	}
	c := config{server: os.Getenv("BENCH_SERVER"), keep: os.Getenv("BENCH_KEEP") != ""}
	var err error
	if c.rows, err = number("BENCH_ROWS", 3_000_000); err == nil {
		c.changes, err = number("BENCH_CHANGES", 1_500_000)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 2
	}
	for _, name := range names {
		if groups[name].start == nil {
			fmt.Fprintf(os.Stderr, "bench: no group %q, only: %s\n", name, groupNames)
			return 2
		}
		if err := measureGroup(ctx, c, name); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
			return 1
		}
	}
	return 0
}

func number(name string, def int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s=%q: want a number above 0", name, text)
	}
	return n, nil
}
