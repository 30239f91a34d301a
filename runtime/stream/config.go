package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/exchange"
	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/restart"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// Config is the configuration of a job. The zero value runs it at parallelism 1
// without checkpoints, state and restarts.
type Config struct {
	// Name is the job's name in logs.
	Name string
	// Parallelism is that of sources and operators that say 0; by default 1.
	Parallelism int
	// MaxParallelism is the number of key groups. By default it is the restored
	// checkpoint's, or else Flink's default for the largest parallelism. It
	// can't change once there is keyed state.
	MaxParallelism int
	Checkpoint     Checkpoint
	// Backend holds keyed state; nil: there is none. Dir is the local folder for
	// it, by default a temporary one; it is not durable and needs not be.
	Backend state.Backend
	Dir     string
	Restart Restart
	// Queue bounds each queue between two subtasks.
	Queue exchange.Limits
	// AllowNonRestoredState lets a job drop the state of operators that it has no
	// more; otherwise that is an error.
	AllowNonRestoredState bool
	Logger                *slog.Logger
	// Reached is called at named points, for crash tests.
	Reached func(point string)
	// Metrics gathers the job's figures when it is set.
	Metrics *Metrics
}

// Checkpoint says where and when checkpoints are taken. Names and defaults are
// those of Flink's execution.checkpointing options.
type Checkpoint struct {
	// Store keeps them; nil: nothing survives the process and an attempt that
	// fails is not restarted. Operators still get one barrier and one commit at
	// the end of a bounded job.
	Store checkpoint.Store
	// Interval is the time between two triggers; 0: only at the end and on request.
	Interval time.Duration
	// First is the time from the start of an attempt to the first trigger, by
	// default Interval.
	First time.Duration
	// Timeout bounds a checkpoint, by default 10 min; and the commits after it once more.
	Timeout time.Duration
	// MinPause is the least time between a completed checkpoint and the next trigger.
	MinPause time.Duration
	// TolerableFailures is the number of failed checkpoints in a row that do not fail the attempt.
	TolerableFailures int
}

// Restart says what happens after a failure.
type Restart struct {
	restart.Policy
	// Permanent tells errors that another attempt can't cure; the job then ends
	// with them. Errors with a method `Permanent() bool` that returns true, a
	// store that is locked, fenced, foreign, unreadable or too new, and state that doesn't fit
	// the job are permanent without it.
	Permanent func(error) bool
}

// The points that the runtime itself passes to Config.Reached, in the order of a checkpoint.
const (
	PointTriggered = "stream.checkpoint.triggered" // sources are about to be asked for barriers
	PointAcked     = "stream.checkpoint.acked"     // every subtask's state is uploaded, nothing published
	PointPublished = "stream.checkpoint.published" // durable, no operator has been told
	PointCommitted = "stream.checkpoint.committed" // every operator has committed, no source has been told
	PointNotified  = "stream.checkpoint.notified"  // sources have been told
	PointRestored  = "stream.attempt.restored"     // a checkpoint was chosen, nothing is open
	PointOpened    = "stream.attempt.opened"       // every operator is open, no source runs
	PointFinished  = "stream.job.finished"         // the last checkpoint is complete
)

// ErrConfig is a configuration or graph that can't run.
var ErrConfig = errors.New("invalid job")

func (c *Config) setDefaults() {
	if c.Parallelism == 0 {
		c.Parallelism = 1
	}
	if c.Checkpoint.Timeout <= 0 {
		c.Checkpoint.Timeout = 10 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Reached == nil {
		c.Reached = func(string) {}
	}
	if c.Metrics == nil {
		c.Metrics = &Metrics{}
	}
}

func (c *Config) check() error {
	var errs []error
	if c.Parallelism < 0 {
		errs = append(errs, fmt.Errorf("parallelism %d is negative", c.Parallelism))
	}
	if c.MaxParallelism < 0 || c.MaxParallelism > keygroup.MaxMaxParallelism {
		errs = append(errs, fmt.Errorf("max parallelism %d is not between 1 and %d", c.MaxParallelism, keygroup.MaxMaxParallelism))
	}
	if c.Checkpoint.Interval < 0 || c.Checkpoint.MinPause < 0 || c.Checkpoint.TolerableFailures < 0 {
		errs = append(errs, errors.New("checkpoint settings must not be negative"))
	}
	if c.Checkpoint.Interval > 0 && c.Checkpoint.Store == nil {
		errs = append(errs, errors.New("a checkpoint interval needs a checkpoint store"))
	}
	return errors.Join(errs...)
}
