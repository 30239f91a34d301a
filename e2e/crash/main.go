// Command crash is one crash run: a workload changes a database while real
// freshet processes copy it and are killed, at random and at named points; at the
// end readers that share no code with us compare, row by row.
//
// Meanwhile the server is restarted and connections to it are cut.
//
// Two pipelines run side by side on the same database, each with its own
// position in the log and its own tables: one in upsert mode on the pebble state back end with two
// writers, one in append mode on the hashmap back end with one. So every kill
// meets one mode while the other goes on, and a table without a primary key is
// part of both.
//
// Into Kafka, both write each change as a message, exactly once. The broker is restarted
// too, and beside kills there are pauses: of the process, for longer than its
// transactions live, alone or while another one takes its place; and of nobody, until
// the broker has aborted what a killed process had prepared.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// config is what the command line says.
type config struct {
	source  string
	sink    string
	kills   int
	seed    uint64
	changes int64
	server  string
	dir     string
	keep    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	c, names, err := parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		return 2
	}
	start := time.Now()
	result, err := crash(ctx, c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash: FAILED:", err)
		return 1
	}
	fmt.Printf("took %s\n", time.Since(start).Round(time.Second))
	fmt.Printf("crash %s %s: %d kills, %d changes, %d lost, %d doubled, %d broken invariants\n",
		names[0], names[1], result.kills, result.changes, result.lost, result.doubled, result.broken)
	if result.lost+result.doubled+result.broken > 0 {
		return 1
	}
	return 0
}

// parse takes flags before, between or after the two names.
func parse(args []string) (config, []string, error) {
	c := config{}
	flags := flag.NewFlagSet("crash SOURCE SINK", flag.ContinueOnError)
	flags.IntVar(&c.kills, "kills", 40, "number of kills")
	flags.Uint64Var(&c.seed, "seed", 1, "seed of the workload and of the kills")
	flags.Int64Var(&c.changes, "changes", 100_000, "row changes while the pipelines are killed")
	flags.StringVar(&c.server, "server", "", "version of the server: 15 or 18, 9.7 or 8.0, 11.8 or 10.11; by default the first")
	flags.StringVar(&c.dir, "dir", "", "folder for tables and checkpoints (a temporary one)")
	flags.BoolVar(&c.keep, "keep", false, "keep the folder")
	var names []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return c, nil, err
		}
		if args = flags.Args(); len(args) > 0 {
			names, args = append(names, args[0]), args[1:]
		}
	}
	if len(names) != 2 || len(kinds[names[0]].versions) == 0 || sinks[names[1]].victims == nil {
		return c, nil, fmt.Errorf("want a source (postgres, mysql or mariadb) and a sink (iceberg or kafka), got %q", names)
	}
	c.source, c.sink = names[0], names[1]
	if c.server == "" {
		c.server = kinds[c.source].versions[0]
	}
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "freshet-crash-*")
		if err != nil {
			return c, nil, err
		}
		c.dir = dir
	}
	dir, err := filepath.Abs(c.dir)
	c.dir = dir
	return c, names, err
}
