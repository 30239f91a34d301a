// Command freshet copies databases into tables, as they change, exactly once.
//
//	freshet run shop.yaml
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	_ "time/tzdata" // zones on systems without them

	"github.com/spf13/cobra"

	"github.com/freshet-cdc/freshet/cmd/freshet/signals"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	a := &app{stdout: stdout, stderr: &switchWriter{w: stderr}, terminal: isTerminal(stderr)}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err != nil {
		printError(stderr, err)
	}
	return exitCode(err)
}

// app is what the commands share.
type app struct {
	stdout   io.Writer
	stderr   *switchWriter
	terminal bool // stderr is one

	logLevel, logFormat string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "freshet",
		Short: "Copy databases into tables as they change, exactly once",
		Long: `freshet reads a database's tables and then its log, and keeps tables in a lake
equal to them: every change arrives, once, in order, whatever crashes on the way.

A pipeline is one YAML file: a source, a sink, and how tables map to each other.`,
		Example: `  freshet validate shop.yaml            check the file, offline
  freshet validate --connect shop.yaml  also check servers and privileges
  freshet plan shop.yaml                which tables, how big, where they go
  freshet run shop.yaml                 run until stopped (Ctrl-C, SIGTERM)
  freshet verify shop.yaml              compare source and sink, row by row
  freshet demo                          all of it on a database that it brings along`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.Long += "\n\n" + exitCodesHelp
	root.PersistentFlags().StringVar(&a.logLevel, "log-level", "info", "least severe level to log: debug, info, warn or error")
	root.PersistentFlags().StringVar(&a.logFormat, "log-format", "text", "form of log lines: text or json")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Name() == "run" {
			return nil // it answers signals itself
		}
		if signals.Release() != nil {
			return errInterrupted
		}
		return nil
	}
	root.AddGroup(&cobra.Group{ID: "pipeline", Title: "Pipelines:"})
	root.AddCommand(a.runCommand(), a.validateCommand(), a.planCommand(), a.verifyCommand(), a.demoCommand(), a.versionCommand())
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// oneDocument checks that a command got one pipeline document.
func oneDocument(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usageError{fmt.Errorf("which pipeline? for instance: %s shop.yaml", cmd.CommandPath())}
	case len(args) > 1:
		return usageError{fmt.Errorf("one pipeline document is wanted, but there are %d: %s", len(args), strings.Join(args, " "))}
	}
	return nil
}

// logger returns the logger that the flags describe.
func (a *app) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return nil, usageError{fmt.Errorf("--log-level: %q is none of debug, info, warn, error", a.logLevel)}
	}
	o := &slog.HandlerOptions{Level: level}
	switch a.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, o)), nil
	}
	return nil, usageError{fmt.Errorf("--log-format: %q is none of text, json", a.logFormat)}
}
