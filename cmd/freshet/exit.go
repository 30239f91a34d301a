package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/stream"
)

// The exit codes. Scripts rely on them.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitRefused    = 3
	exitDifferent  = 4
	exitCheckpoint = 5
	exitAbrupt     = 130 // 128 + SIGINT, as shells have it
)

const exitCodesHelp = `Exit codes:
  0    done, or stopped with a last checkpoint
  1    failed while running
  2    the command line or the pipeline document is wrong
  3    source or sink can't be used: unreachable, a privilege or a setting is missing
  4    verify found differences
  5    the checkpoint directory can't be used: another process or pipeline owns it,
       or no checkpoint in it fits
  130  ended at once by a second signal, without a last checkpoint`

var (
	errDifferent = errors.New("source and sink differ")
	errAbrupt    = errors.New("ended at once, without a last checkpoint")
	// errInterrupted: a signal came before the command began.
	errInterrupted = errors.New("interrupted")
)

// usageError is a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitCode returns the code that stands for an error.
func exitCode(err error) int {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return exitDone
	case is(errAbrupt, errInterrupted):
		return exitAbrupt
	case is(errDifferent):
		return exitDifferent
	case errors.As(err, new(usageError)), errors.As(err, new(document.Problems)):
		return exitUsage
	case errors.As(err, new(*pipeline.CheckError)):
		return exitRefused
	case is(checkpoint.ErrLocked, checkpoint.ErrFenced, checkpoint.ErrForeign, checkpoint.ErrVersion, stream.ErrUnreadable, stream.ErrState):
		return exitCheckpoint
	case strings.HasPrefix(err.Error(), "unknown command"): // cobra has no type for it
		return exitUsage
	}
	return exitFailed
}

// printError prints an error for people.
func printError(w io.Writer, err error) {
	var problems document.Problems
	switch {
	case errors.As(err, &problems) && len(problems) > 1:
		fmt.Fprintf(w, "%s\n%d problems in %s\n", problems.Error(), len(problems), problems[0].Place.File)
	case errors.As(err, &problems):
		fmt.Fprintln(w, problems.Error())
	case errors.Is(err, errDifferent): // the differences have been printed
	default:
		fmt.Fprintf(w, "freshet: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
}

// redactedError is an error whose text has lost the document's secrets.
type redactedError struct {
	error
	text string
}

func (e redactedError) Error() string { return e.text }
func (e redactedError) Unwrap() error { return e.error }
