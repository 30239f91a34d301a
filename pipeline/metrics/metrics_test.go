package metrics_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/pipeline/metrics"
	"github.com/freshet-cdc/freshet/runtime/stream"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

type job struct {
	progress compose.Progress
	metrics  stream.Metrics
}

func (j *job) Progress() compose.Progress { return j.progress }
func (j *job) Metrics() *stream.Metrics   { return &j.metrics }

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Code, string(body)
}

func TestMetrics(t *testing.T) {
	j := &job{progress: compose.Progress{Running: true, Started: time.Now(), Progress: source.Progress{
		Position: 90, Server: 100, LagBytes: 10, LagTime: 1500 * time.Millisecond, RetainedBytes: 64, ReadRows: 7, ChangeRows: 8,
		Tables: []source.TableProgress{{Table: schema.TableID{Schema: "public", Table: "orders"}, Chunks: 4, Done: 3, Rows: 5, Snapshotting: true}},
	}}}
	j.metrics.Completed.Store(12)
	j.metrics.LastDurationNanos.Store(int64(250 * time.Millisecond))
	j.metrics.Restarts.Store(2)
	code, text := get(t, metrics.Handler("shop", j, metrics.Health{}), "/metrics")
	if code != http.StatusOK {
		t.Fatal(code, text)
	}
	for _, want := range []string{
		`flink_jobmanager_job_numberOfCompletedCheckpoints{job_name="shop"} 12`,
		`flink_jobmanager_job_lastCheckpointDuration{job_name="shop"} 250`,
		`flink_jobmanager_job_numRestarts{job_name="shop"} 2`,
		`flink_taskmanager_job_task_operator_currentEmitEventTimeLag{job_name="shop"} 1500`,
		`freshet_source_lag_bytes{job_name="shop"} 10`,
		`freshet_source_retained_bytes{job_name="shop"} 64`,
		`freshet_source_snapshot_rows_total{job_name="shop"} 7`,
		`freshet_snapshot_chunks_done{job_name="shop",table="public.orders"} 3`,
		`flink_taskmanager_job_task_operator_numTablesRemaining{job_name="shop"} 1`,
		"process_resident_memory_bytes", "go_goroutines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestHealth(t *testing.T) {
	j := &job{progress: compose.Progress{Started: time.Now()}}
	h := metrics.Handler("shop", j, metrics.Health{Interval: time.Second, Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }})
	if code, body := get(t, h, "/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "starting") {
		t.Error(code, body)
	}
	j.progress.Running = true
	if code, body := get(t, h, "/healthz"); code != http.StatusOK || !strings.Contains(body, `"status": "ok"`) {
		t.Error(code, body)
	}
	j.metrics.LastCompletedUnixNano.Store(time.Now().Add(-time.Hour).UnixNano())
	if code, body := get(t, h, "/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "the newest checkpoint is 1h0m0s old") {
		t.Error(code, body)
	}
	j.progress.Running, j.progress.LastError, j.progress.Failed = false, errors.New("no route to hunter2"), time.Now()
	if _, body := get(t, h, "/healthz"); !strings.Contains(body, "restarting after a failure 0s ago: no route to ***") {
		t.Error(body)
	}
}
