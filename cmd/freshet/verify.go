package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/pipeline/verify"
	"github.com/freshet-cdc/freshet/schema"
)

func (a *app) verifyCommand() *cobra.Command {
	var o verify.Options
	tables := ""
	cmd := &cobra.Command{
		Use:     "verify PIPELINE.yaml",
		GroupID: "pipeline",
		Short:   "Compare the tables of source and sink",
		Long: `Verify reads every captured table on both sides and compares them row by row,
whatever order the rows come in: the number of rows, a checksum, and, where
these differ, the keys and columns that do.

The pipeline may run and rows may change meanwhile: keys that differ are
compared again until the sink has committed the position at which the source
was read. Exit code 0 only when all tables are equal, 4 when not.`,
		Example: `  freshet verify shop.yaml
  freshet verify --tables 'public.orders,public.order_\.*' shop.yaml
  freshet verify --show 100 --wait 2m shop.yaml`,
		Args: oneDocument,
		RunE: func(cmd *cobra.Command, args []string) error {
			var only func(schema.TableID) bool
			if tables != "" {
				s, err := match.ParseSelectors(tables)
				if err != nil {
					return usageError{fmt.Errorf("--tables: %w", err)}
				}
				only = s.Match
			}
			return a.with(args[0], func(p *pipeline.Pipeline) error {
				return a.verify(cmd.Context(), p, o, only)
			})
		},
	}
	cmd.Flags().StringVar(&tables, "tables", "", "compare only these source tables (patterns as in the document, schema.table)")
	cmd.Flags().IntVar(&o.Show, "show", 10, "number of differing keys to show for each table")
	cmd.Flags().DurationVar(&o.Patience, "wait", 0, "how long the sink may stand still before differences count (default 30s)")
	cmd.Flags().DurationVar(&o.Limit, "limit", 0, "longest time to compare keys of one table again (default 10m)")
	return cmd
}

// verify compares and prints.
func (a *app) verify(ctx context.Context, p *pipeline.Pipeline, o verify.Options, only func(schema.TableID) bool) error {
	rows, different := int64(0), 0
	results, err := p.Verify(ctx, o, only, func(r *verify.Result) {
		fmt.Fprint(a.stdout, r)
		if r.Equal() {
			rows += r.SourceRows
		} else {
			different++
		}
	})
	switch {
	case err != nil:
		return err
	case len(results) == 0:
		return usageError{fmt.Errorf("--tables matches none of the captured tables")}
	case different > 0:
		fmt.Fprintf(a.stdout, "verify: %d of %d tables differ\n", different, len(results))
		return errDifferent
	}
	fmt.Fprintf(a.stdout, "verified: %d tables, %d rows equal\n", len(results), rows)
	return nil
}
