package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/compose"
)

func (a *app) runCommand() *cobra.Command {
	until := ""
	cmd := &cobra.Command{
		Use:     "run PIPELINE.yaml",
		GroupID: "pipeline",
		Short:   "Run a pipeline until it is stopped",
		Long: `Run checks source and sink, takes a snapshot of the tables that have none yet,
follows the log from the first second, and commits with every checkpoint. It
goes on where it was, also after a crash.

SIGTERM or SIGINT (Ctrl-C) stops it with one last checkpoint; a second one ends
it at once, which loses nothing either: the next run starts from the checkpoint
before. While it runs it serves /healthz and /metrics (see metrics.address).`,
		Example: `  freshet run shop.yaml
  freshet run --until caught-up shop.yaml
  PGPASSWORD=... freshet run --log-format json shop.yaml`,
		Args: oneDocument,
		RunE: func(cmd *cobra.Command, args []string) error {
			if until != "" && until != "caught-up" {
				return usageError{fmt.Errorf("--until: %q is not known, want caught-up", until)}
			}
			logger, err := a.logger()
			if err != nil {
				return err
			}
			ctx, stopper, end := a.listen(cmd.Context(), logger)
			defer end()
			return a.with(args[0], func(p *pipeline.Pipeline) error {
				stopper.attach(p)
				return a.runPipeline(ctx, p, logger, until == "caught-up")
			})
		},
	}
	cmd.Flags().StringVar(&until, "until", "", "caught-up: stop with a checkpoint once all is committed that the source had at the start")
	return cmd
}

// runPipeline runs p with a display of its progress.
func (a *app) runPipeline(ctx context.Context, p *pipeline.Pipeline, logger *slog.Logger, untilCaughtUp bool) error {
	stopDisplay := func() {}
	err := p.Run(ctx, pipeline.RunOptions{
		UntilCaughtUp: untilCaughtUp,
		Started: func(j *compose.Job) {
			stopDisplay = a.display(ctx, j, p, logger)
		},
	})
	stopDisplay()
	if cause := context.Cause(ctx); errors.Is(cause, errAbrupt) {
		return errAbrupt
	}
	return err
}
