package compose

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/runtime/stream"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/source"
)

// Config is what a job is made of.
type Config struct {
	// Name is the pipeline's name.
	Name   string
	Source source.Source
	Sink   sink.Sink
	// Needs is what the sink can use.
	Needs  source.Needs
	Router *match.Router
	// Parallelism is the number of writers.
	Parallelism int
	// Retained is the number of checkpoints that the store keeps.
	Retained int
	// Engine has checkpoints, state back end, restarts, logger and crash points.
	// Name, Parallelism and Metrics are set by New.
	Engine stream.Config
}

// Job is one run of a pipeline.
type Job struct {
	cfg     Config
	env     *stream.Env
	metrics stream.Metrics
	started time.Time

	mu      sync.Mutex
	current *attempt
	reader  source.Reader
	target  uint64 // the source's position when the job first started
	last    error  // of the newest failed attempt
	failed  time.Time
}

// The uids of the operators: names of state in checkpoints, never to be changed.
const (
	uidSource    = "source"
	uidWriter    = "writer"
	uidCommitter = "committer"
)

// New makes the graph. The error is a configuration that can't run.
func New(cfg Config) (*Job, error) {
	if cfg.Parallelism < 1 || cfg.Parallelism > 1<<15 {
		return nil, errors.New("the parallelism must be from 1 to 32768")
	}
	j := &Job{cfg: cfg, started: time.Now()}
	engine := cfg.Engine
	engine.Name, engine.Parallelism, engine.Metrics = cfg.Name, cfg.Parallelism, &j.metrics
	engine.Restart.Permanent = j.permanent
	j.env = stream.New(engine)
	rows := stream.From(j.env, uidSource, 1, func() stream.Source[element] {
		return &capture{job: j, reader: cfg.Source.NewReader()}
	}, stream.Name(cfg.Source.Kind()))
	files := stream.Process(rows, uidWriter, cfg.Parallelism, &partitioner{}, func() stream.Operator[element, prepared] {
		return &write{job: j}
	}, stream.Name(cfg.Sink.Kind()))
	stream.Process(files, uidCommitter, 1, stream.Rebalance[prepared](), func() stream.Operator[prepared, stream.Nothing] {
		return &commit{job: j}
	})
	return j, j.env.Check()
}

// permanent tells failures that another attempt can't cure, and keeps each one
// for Progress.
func (j *Job) permanent(err error) bool {
	j.mu.Lock()
	j.last, j.failed = err, time.Now()
	j.mu.Unlock()
	return errors.Is(err, schema.ErrNullKey) || errors.As(err, new(*match.RuleError)) ||
		j.cfg.Engine.Restart.Permanent != nil && j.cfg.Engine.Restart.Permanent(err)
}

// Run runs the job until it ends, is stopped, or fails for good; see stream.Env.Run.
func (j *Job) Run(ctx context.Context) error { return j.env.Run(ctx) }

// Stop ends the job with one last checkpoint, committed.
func (j *Job) Stop() { j.env.Stop() }

// RequestCheckpoint asks for a checkpoint out of turn.
func (j *Job) RequestCheckpoint() { j.env.RequestCheckpoint() }

func (j *Job) setReader(r source.Reader) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reader = r
}

// Progress is where a job stands.
type Progress struct {
	source.Progress
	// Target is the source's position when the job first started, 0 until then.
	Target uint64
	// Started is when the job was made. Running says that everything is open.
	Started time.Time
	Running bool
	// LastError is what ended the newest failed attempt, at Failed; nil for none.
	LastError error
	Failed    time.Time
}

// CaughtUp says that everything up to Target is committed and no snapshot runs.
func (p Progress) CaughtUp() bool {
	return p.Target > 0 && p.SnapshotDone && p.Committed >= p.Target
}

// Read says that everything up to Target has been read: a checkpoint now makes
// the job caught up.
func (p Progress) Read() bool { return p.Target > 0 && p.SnapshotDone && p.Position >= p.Target }

// Progress reports where the job stands. Safe to call at any time.
func (j *Job) Progress() Progress {
	j.mu.Lock()
	r := j.reader
	j.mu.Unlock()
	p := Progress{Started: j.started, Running: j.metrics.Running.Load()}
	if r != nil {
		p.Progress = r.Progress()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.target == 0 {
		j.target = p.Start
	}
	p.Target, p.LastError, p.Failed = j.target, j.last, j.failed
	return p
}

// Metrics returns the engine's figures.
func (j *Job) Metrics() *stream.Metrics { return &j.metrics }
