package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/pipeline/metrics"
	"github.com/freshet-cdc/freshet/runtime/checkpoint/filestore"
	"github.com/freshet-cdc/freshet/runtime/restart"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/state/pebble"
	"github.com/freshet-cdc/freshet/runtime/stream"
)

// RunOptions change a run.
type RunOptions struct {
	// UntilCaughtUp ends the run with a checkpoint once everything is committed
	// that the source had when the run started.
	UntilCaughtUp bool
	// Started is called when the job is made, before it runs.
	Started func(*compose.Job)
	// Serving is called with the address of /healthz and /metrics.
	Serving func(address string)
}

// Run checks the pipeline and runs it until ctx is done (at once, ctx.Err()),
// until Stop (with a last checkpoint), until the source ends, or until it fails
// for good. Failures that may pass are retried as the restart strategy says.
func (p *Pipeline) Run(ctx context.Context, o RunOptions) (err error) {
	checking, cancel := context.WithCancel(ctx)
	defer cancel()
	if !p.setCancel(cancel) {
		return nil // stopped before it began
	}
	tables, err := p.check(checking)
	if err != nil {
		if checking.Err() != nil && ctx.Err() == nil {
			return nil // stopped before it began
		}
		return err
	}
	for _, note := range p.unused(tables) {
		p.logger.Warn(note)
	}
	backend := p.backend()
	if closer, ok := backend.(io.Closer); ok {
		defer func() { err = errors.Join(err, closer.Close()) }()
	}
	job, err := p.compose(backend)
	if err != nil {
		return err
	}
	if o.Started != nil {
		o.Started(job)
	}
	stopServing, err := p.serve(job, o.Serving)
	if err != nil {
		return err
	}
	defer stopServing()
	tending, rest := context.WithCancel(ctx)
	tended := make(chan struct{})
	go func() {
		defer close(tended)
		tendMemory(tending, func() int64 { at := job.Progress(); return at.ReadRows + at.ChangeRows })
	}()
	defer func() { rest(); <-tended }()
	if o.UntilCaughtUp {
		watching, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); catchUp(watching, job, p.logger) }()
		defer func() { cancel(); <-done }()
	}
	p.logger.Info("starting", "source", p.Source.Kind(), "tables", len(tables), "sink", p.Sink.Kind(),
		"parallelism", p.Document.Pipeline.Parallelism, "checkpoints", p.Document.Pipeline.CheckpointDir)
	if !p.setJob(job) {
		return nil // stopped before it began
	}
	return job.Run(ctx)
}

// setCancel makes the end of the checks known to Stop, unless Stop was called already.
func (p *Pipeline) setCancel(cancel context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel = cancel
	return !p.stopped
}

// setJob makes the job known to Stop, unless Stop was called already.
func (p *Pipeline) setJob(job *compose.Job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.job = job
	return !p.stopped
}

// Stop ends a run with one last checkpoint.
func (p *Pipeline) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	switch {
	case p.job != nil:
		p.job.Stop()
	case p.cancel != nil:
		p.cancel()
	}
}

// backend returns the keyed state back end of the document.
func (p *Pipeline) backend() state.Backend {
	if p.Document.Pipeline.StateBackend == "hashmap" {
		return memory.NewBackend(memory.Options{})
	}
	return pebble.NewBackend(pebble.Options{Stores: p.Document.Pipeline.Parallelism + 1, Logger: p.logger})
}

// compose makes the job of the document.
func (p *Pipeline) compose(backend state.Backend) (*compose.Job, error) {
	s := p.Document.Pipeline
	store, err := filestore.New(filestore.Options{Dir: s.CheckpointDir, Pipeline: s.Name, Retained: s.RetainedCheckpoints, Logger: p.logger})
	if err != nil {
		return nil, err
	}
	dir := s.StateDir
	if dir == "" {
		// On the file system of the checkpoints, so that files can be linked.
		dir = filepath.Join(s.CheckpointDir, "local")
	}
	return compose.New(compose.Config{
		Name: s.Name, Source: p.Source, Sink: p.Sink, Needs: p.sinkKind.Needs, Router: p.router, Parallelism: s.Parallelism, Retained: s.RetainedCheckpoints,
		Engine: stream.Config{
			MaxParallelism: s.MaxParallelism,
			Checkpoint: stream.Checkpoint{
				Store: store, Interval: s.CheckpointInterval, First: min(s.CheckpointInterval, time.Second),
				Timeout: s.CheckpointTimeout, MinPause: s.CheckpointPause, TolerableFailures: s.TolerableCheckpoints,
			},
			Backend: backend, Dir: dir,
			Restart: stream.Restart{
				Policy: restart.Policy{Initial: s.Restart.Initial, Max: s.Restart.Max, Multiplier: s.Restart.Multiplier,
					Jitter: s.Restart.Jitter, ResetAfter: s.Restart.ResetAfter, Attempts: s.Restart.Attempts},
				Permanent: p.permanent,
			},
			Logger: p.logger, Reached: p.reached,
		},
	})
}

// permanent tells errors that another attempt can't cure.
func (p *Pipeline) permanent(err error) bool {
	for _, list := range [][]error{p.sourceKind.Permanent, p.sinkKind.Permanent} {
		for _, known := range list {
			if errors.Is(err, known) {
				return true
			}
		}
	}
	return false
}

// serve serves /healthz and /metrics while the job runs.
func (p *Pipeline) serve(job *compose.Job, serving func(string)) (stop func(), err error) {
	s := p.Document.Pipeline
	if s.MetricsAddress == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", s.MetricsAddress)
	if err != nil && s.MetricsDefault {
		l, err = net.Listen("tcp", "127.0.0.1:0") // another pipeline has the usual port
	}
	if err != nil {
		return nil, fmt.Errorf("metrics.address: %w", err)
	}
	server := &http.Server{
		Handler:           metrics.Handler(s.Name, job, metrics.Health{Interval: s.CheckpointInterval, Timeout: s.CheckpointTimeout, Redact: p.Redact}),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(p.logger.Handler(), slog.LevelWarn),
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }() // always http.ErrServerClosed
	p.logger.Info("serving /healthz and /metrics", "address", l.Addr().String())
	if serving != nil {
		serving(l.Addr().String())
	}
	return func() { _ = server.Close(); <-done }, nil
}

// catchUp asks for a checkpoint as soon as everything was read, and stops the
// job once it is committed.
func catchUp(ctx context.Context, job *compose.Job, logger *slog.Logger) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	asked := time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p := job.Progress()
		switch {
		case p.CaughtUp():
			logger.Info("caught up, stopping with a last checkpoint")
			job.Stop()
			return
		case p.Read() && time.Since(asked) > time.Second:
			asked = time.Now()
			job.RequestCheckpoint()
		}
	}
}
