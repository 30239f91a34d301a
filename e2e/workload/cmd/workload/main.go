// Command workload runs the e2e workload on a database by hand. SIGUSR1 pauses
// it, SIGUSR2 lets it go on.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/freshet-cdc/freshet/e2e/workload"
)

func main() {
	url := flag.String("url", "", "connection `URL` of the database")
	changes := flag.Int64("changes", 100_000, "row changes to make")
	rate := flag.Int("rate", 0, "row changes a second; 0 = as fast as it goes")
	seed := flag.Uint64("seed", 1, "seed of the workload")
	create := flag.Bool("create", true, "create the tables first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *seed, *changes, *rate, *create); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string, seed uint64, changes int64, rate int, create bool) error {
	gate := &workload.Gate{Rate: rate}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			if s == syscall.SIGUSR1 {
				gate.Pause()
			} else {
				gate.Resume()
			}
		}
	}()
	w, err := workload.New(url, workload.Config{Seed: seed, Pace: gate.Pace})
	if err != nil {
		return err
	}
	if create {
		if err := w.Create(ctx); err != nil {
			return err
		}
	}
	n, err := w.Run(ctx, changes)
	fmt.Printf("%d row changes committed\n", n)
	return err
}
