package main

import (
	"github.com/spf13/cobra"

	"github.com/freshet-cdc/freshet/pipeline"
)

func (a *app) planCommand() *cobra.Command {
	columns := false
	cmd := &cobra.Command{
		Use:     "plan PIPELINE.yaml",
		GroupID: "pipeline",
		Short:   "Show what a pipeline would do",
		Long: `Plan connects, finds the captured tables and shows how big they are (by the
server's estimate), in how many chunks they would be read, which table of the
sink each goes to, and what to know about them. It changes nothing.`,
		Example: `  freshet plan shop.yaml
  freshet plan --columns shop.yaml      also every column with its types`,
		Args: oneDocument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(args[0], func(p *pipeline.Pipeline) error {
				out, err := p.Plan(cmd.Context())
				if err != nil {
					return err
				}
				return out.Print(a.stdout, columns)
			})
		},
	}
	cmd.Flags().BoolVar(&columns, "columns", false, "also show each column with its type in source and sink")
	return cmd
}
