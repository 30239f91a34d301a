package main

import (
	"errors"
	"os"

	"github.com/freshet-cdc/freshet/pipeline"
)

// with opens the pipeline document, calls fn and closes what it opened. Errors
// lose the document's secrets on the way.
func (a *app) with(file string, fn func(*pipeline.Pipeline) error) error {
	logger, err := a.logger()
	if err != nil {
		return err
	}
	reached, err := pipeline.CrashPoint(os.Getenv(pipeline.CrashVariable))
	if err != nil {
		return usageError{err}
	}
	p, err := pipeline.Open(file, pipeline.Options{Logger: logger, Reached: reached})
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if err := errors.Join(fn(p), p.Close()); err != nil {
		return redactedError{err, p.Redact(err.Error())}
	}
	return nil
}
