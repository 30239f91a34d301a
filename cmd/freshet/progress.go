package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/pipeline/plan"
)

// lineInterval is the time between two lines of progress where there is no terminal.
const lineInterval = 10 * time.Second

// display shows the progress of a job until stop is called: bars on a terminal,
// plain lines elsewhere. stop waits until nothing more is written.
func (a *app) display(ctx context.Context, job *compose.Job, p *pipeline.Pipeline, logger *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if a.terminal {
			a.bars(ctx, job, p)
		} else {
			lines(ctx, job, p, logger)
		}
	}()
	return func() {
		cancel()
		<-done
		s := newRate().at(job.Progress(), time.Now())
		logger.Info("ended", "rows", s.total, "position", p.Source.FormatPosition(s.Position), "committed", p.Source.FormatPosition(s.Committed),
			"checkpoint", job.Metrics().LastID.Load(), "restarts", job.Metrics().Restarts.Load())
	}
}

// lines logs the progress now and then.
func lines(ctx context.Context, job *compose.Job, p *pipeline.Pipeline, logger *slog.Logger) {
	tick := time.NewTicker(lineInterval)
	defer tick.Stop()
	r := newRate()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s := r.at(job.Progress(), now)
			attrs := []any{"rows", s.total, "rows/s", int64(s.perSecond), "position", p.Source.FormatPosition(s.Position),
				"lag", s.LagTime.Round(time.Millisecond), "lag bytes", s.LagBytes, "checkpoint", job.Metrics().LastID.Load()}
			if !s.SnapshotDone {
				attrs = append(attrs, "snapshot", s.snapshot())
			}
			logger.Info("progress", attrs...)
		}
	}
}

// sample is a job's progress with its speed.
type sample struct {
	compose.Progress
	total     int64
	perSecond float64
}

// snapshot says how far the snapshot is.
func (s sample) snapshot() string {
	chunks, done, tables, ready := 0, 0, len(s.Tables), 0
	for _, t := range s.Tables {
		chunks, done = chunks+t.Chunks, done+t.Done
		if !t.Snapshotting {
			ready++
		}
	}
	return fmt.Sprintf("%d of %d tables, %d of %d chunks", ready, tables, done, chunks)
}

// status is the line under the bars.
func (s sample) status() string {
	state := "running"
	switch {
	case !s.Running && s.LastError != nil:
		state = "waiting to restart"
	case !s.Running:
		state = "starting"
	case !s.SnapshotDone:
		state = "snapshot: " + s.snapshot()
	}
	lag := "no lag"
	if s.LagBytes > 0 {
		lag = fmt.Sprintf("lag %s, %s", s.LagTime.Round(100*time.Millisecond), plan.Bytes(s.LagBytes))
	}
	return fmt.Sprintf("%s | %d rows, %.0f/s | %s", state, s.total, s.perSecond, lag)
}

// rate turns counts into speed, smoothed over a few seconds.
type rate struct {
	last  int64
	when  time.Time
	speed float64
}

func newRate() *rate { return &rate{} }

func (r *rate) at(p compose.Progress, now time.Time) sample {
	total := p.ReadRows + p.ChangeRows
	if !r.when.IsZero() {
		seconds := now.Sub(r.when).Seconds()
		// After a restart the counts begin anew.
		if current := float64(total-r.last) / max(seconds, 1e-3); current >= 0 {
			keep := 1 / (1 + seconds/2)
			r.speed = keep*r.speed + (1-keep)*current
		}
	}
	r.last, r.when = total, now
	return sample{Progress: p, total: total, perSecond: r.speed}
}
