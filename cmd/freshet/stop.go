package main

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/freshet-cdc/freshet/cmd/freshet/signals"
	"github.com/freshet-cdc/freshet/pipeline"
)

// stopper turns signals into the end of a run: the first stops the pipeline with
// a last checkpoint, the second ends it at once, the third the process, whatever hangs.
// It listens before the pipeline is there, since signals may come then too.
type stopper struct {
	cancel context.CancelCauseFunc
	logger *slog.Logger

	mu    sync.Mutex
	count int
	p     *pipeline.Pipeline
}

// listen handles signals until ctx is done; the context that it returns ends with
// errAbrupt at the second one.
func (a *app) listen(ctx context.Context, logger *slog.Logger) (context.Context, *stopper, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stopper{cancel: cancel, logger: logger}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case sig := <-signals.Received():
				s.signal(sig)
			case <-quit:
				return
			}
		}
	}()
	return ctx, s, func() { close(quit); <-done; cancel(nil) }
}

func (s *stopper) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	switch s.count {
	case 1:
		s.logger.Info("stopping with a last checkpoint; once more to end at once", "signal", sig.String())
		if s.p != nil {
			s.p.Stop()
		}
	case 2:
		s.cancel(errAbrupt)
	default:
		os.Exit(exitAbrupt)
	}
}

// attach names the pipeline that signals stop, which may have come already.
func (s *stopper) attach(p *pipeline.Pipeline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p = p
	if s.count > 0 {
		p.Stop()
	}
}
