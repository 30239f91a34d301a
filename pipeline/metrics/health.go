package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/runtime/stream"
)

// Health says when a pipeline is well: it runs, and its newest checkpoint is no
// older than a few intervals.
type Health struct {
	// Interval and Timeout are those of checkpoints.
	Interval, Timeout time.Duration
	// Redact takes secrets out of error texts; nil leaves them.
	Redact func(string) string
}

// Status is the answer of /healthz.
type Status struct {
	// Status is ok or degraded; Reasons say why.
	Status  string   `json:"status"`
	Reasons []string `json:"reasons,omitempty"`
	// CheckpointAgeSeconds is the age of the newest checkpoint, or the time since
	// the start when there is none (Checkpoint is 0 then).
	Checkpoint           int64   `json:"checkpoint"`
	CheckpointAgeSeconds float64 `json:"checkpointAgeSeconds"`
	LagSeconds           float64 `json:"lagSeconds"`
	LagBytes             int64   `json:"lagBytes"`
	Restarts             int64   `json:"restarts"`
	SnapshotDone         bool    `json:"snapshotDone"`
}

// maxAge is how old the newest checkpoint may be.
func (h Health) maxAge() time.Duration {
	return max(3*h.Interval, 30*time.Second) + min(h.Timeout, time.Minute)
}

// lastCheckpoint returns when the newest checkpoint was published, or the start.
func lastCheckpoint(p compose.Progress, m *stream.Metrics) time.Time {
	if at := m.LastCompletedUnixNano.Load(); at > 0 {
		return time.Unix(0, at)
	}
	return p.Started
}

// Of returns a job's state of health.
func (h Health) Of(job Job) Status {
	p, m := job.Progress(), job.Metrics()
	age := time.Since(lastCheckpoint(p, m))
	s := Status{
		Status: "ok", Checkpoint: m.LastID.Load(), CheckpointAgeSeconds: age.Seconds(),
		LagSeconds: p.LagTime.Seconds(), LagBytes: p.LagBytes, Restarts: m.Restarts.Load(), SnapshotDone: p.SnapshotDone,
	}
	switch {
	case !p.Running && p.LastError != nil:
		text := p.LastError.Error()
		if h.Redact != nil {
			text = h.Redact(text)
		}
		s.Reasons = append(s.Reasons, fmt.Sprintf("restarting after a failure %s ago: %s", time.Since(p.Failed).Round(time.Second), text))
	case !p.Running:
		s.Reasons = append(s.Reasons, "starting")
	}
	if age > h.maxAge() {
		s.Reasons = append(s.Reasons, fmt.Sprintf("the newest checkpoint is %s old, with an interval of %s", age.Round(time.Second), h.Interval))
	}
	if len(s.Reasons) > 0 {
		s.Status = "degraded"
	}
	return s
}

// serve answers 200 when all is well, else 503.
func (h Health) serve(w http.ResponseWriter, job Job) {
	status := h.Of(job)
	w.Header().Set("Content-Type", "application/json")
	if status.Status != "ok" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(status) // the client is gone
}
