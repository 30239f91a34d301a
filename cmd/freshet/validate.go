package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/freshet-cdc/freshet/pipeline"
)

func (a *app) validateCommand() *cobra.Command {
	connect, show := false, false
	cmd := &cobra.Command{
		Use:     "validate PIPELINE.yaml",
		GroupID: "pipeline",
		Short:   "Check a pipeline document",
		Long: `Validate reads a pipeline document and reports everything that is wrong with it,
each with its place, the cause and the nearest valid key. It is offline; with
--connect it also logs in and checks servers, privileges and settings, and that
tables match, without changing anything.`,
		Example: `  freshet validate shop.yaml
  freshet validate --connect shop.yaml
  freshet validate --show shop.yaml     print it as understood, secrets masked`,
		Args: oneDocument,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(args[0], func(p *pipeline.Pipeline) error {
				if show {
					fmt.Fprint(a.stdout, p.Document)
				}
				if connect {
					if err := p.Check(cmd.Context()); err != nil {
						return err
					}
					fmt.Fprintf(a.stdout, "%s: valid; source %s and sink %s are ready\n", args[0], p.Source.Kind(), p.Sink.Kind())
					return nil
				}
				fmt.Fprintf(a.stdout, "%s: valid (source %s, sink %s); --connect also checks the servers\n", args[0], p.Source.Kind(), p.Sink.Kind())
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&connect, "connect", false, "also check servers, privileges and tables")
	cmd.Flags().BoolVar(&show, "show", false, "print the document as understood, with its most important defaults, secrets masked")
	return cmd
}
