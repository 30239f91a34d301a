package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet-cdc/freshet/cmd/freshet/demo"
	"github.com/freshet-cdc/freshet/examples"
	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/verify"
)

func (a *app) demoCommand() *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use:     "demo",
		GroupID: "pipeline",
		Short:   "See it work on a PostgreSQL that it brings along",
		Long: `Demo starts a real PostgreSQL with a small shop in it (its binaries are fetched
once into your cache), runs examples/shop.yaml on it while rows keep changing,
kills the pipeline in the middle and starts it again, stops the changes, and
compares every table with its source. Exit code 0 only when all are equal.

Nothing else is needed: no Docker, no database, no account. The tables, their
catalog, the checkpoints and the pipeline document stay in --dir.`,
		Example: `  freshet demo
  freshet demo --rows 1000000 --changes 200000 --dir /data/demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Rows < 1 || o.Changes < 1 {
				return usageError{errors.New("--rows and --changes must be at least 1")}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			o.Out = a.stdout
			err := demo.Run(ctx, o, demo.Hooks{Pipeline: examples.Shop, Command: a.self, Verify: a.verifyTables})
			if errors.Is(err, demo.ErrDifferent) {
				fmt.Fprintln(a.stdout, err)
				return errDifferent
			}
			return err
		},
	}
	cmd.Flags().IntVar(&o.Rows, "rows", 100_000, "about how many rows the shop has at the start")
	cmd.Flags().IntVar(&o.Changes, "changes", 20_000, "row changes made while the pipeline runs")
	cmd.Flags().StringVar(&o.Dir, "dir", "freshet-demo", "folder for warehouse/, catalog.db, checkpoints/ and pipeline.yaml")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "the same seed makes the same rows and changes")
	cmd.Flags().DurationVar(&o.Spread, "spread", 12*time.Second, "time over which the changes are made")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Second, "checkpoint interval of the pipeline")
	return cmd
}

// self returns a command that runs this binary, in a process group of its own so
// that Ctrl-C reaches the demo alone.
func (a *app) self(args ...string) *exec.Cmd {
	binary, err := os.Executable()
	if err != nil {
		binary = os.Args[0]
	}
	cmd := exec.Command(binary, append(args, "--log-level", "warn")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// verifyTables compares all tables of a pipeline document.
func (a *app) verifyTables(ctx context.Context, file string) (results []*verify.Result, err error) {
	err = a.with(file, func(p *pipeline.Pipeline) error {
		results, err = p.Verify(ctx, verify.Options{Show: 10}, nil, func(*verify.Result) {})
		return err
	})
	return results, err
}
