// Package metrics shows a running pipeline to machines: Prometheus figures on
// /metrics and the state of health on /healthz.
//
// Figures that Flink has carry the names of Flink's own Prometheus reporter
// (flink_jobmanager_job_lastCheckpointDuration in milliseconds, and so on), so
// that dashboards and alerts go on working. What Flink does not have is called
// freshet_ and follows Prometheus: seconds, bytes, _total. Everything is read when
// it is scraped; nothing is gathered in between.
//
//	handler := metrics.Handler("shop", job, metrics.Health{Interval: 10 * time.Second})
//	http.Serve(listener, handler)
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/runtime/stream"
)

// Job is what a compose.Job shows.
type Job interface {
	Progress() compose.Progress
	Metrics() *stream.Metrics
}

// Handler serves /metrics and /healthz for a job.
func Handler(pipeline string, job Job, health Health) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(pipeline, job), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { health.serve(w, job) })
	return mux
}

// figure is one figure without labels of its own.
type figure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(compose.Progress, *stream.Metrics) float64
}

// collector reads a job's figures when it is scraped.
type collector struct {
	job     Job
	figures []figure

	operatorIn, operatorOut, operatorBytes *prometheus.Desc
	idle, blocked, alignment               *prometheus.Desc
	chunks, chunksDone, tableRows          *prometheus.Desc
	snapshotting                           *prometheus.Desc
}

const (
	jobScope      = "flink_jobmanager_job_"
	operatorScope = "flink_taskmanager_job_task_operator_"
	taskScope     = "flink_taskmanager_job_task_"
)

func newCollector(pipeline string, job Job) *collector {
	labels := prometheus.Labels{"job_name": pipeline}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, variable, labels)
	}
	operator := []string{"operator_name", "subtask_index"}
	c := &collector{
		job:           job,
		operatorIn:    desc(operatorScope+"numRecordsIn", "Rows that an operator has taken.", operator...),
		operatorOut:   desc(operatorScope+"numRecordsOut", "Rows that an operator has given.", operator...),
		operatorBytes: desc(taskScope+"numBytesOut", "Bytes in memory that an operator has given.", operator...),
		idle:          desc("freshet_operator_idle_seconds_total", "Time that an operator waited for input.", operator...),
		blocked:       desc("freshet_operator_backpressured_seconds_total", "Time that an operator waited for what comes after it.", operator...),
		alignment:     desc(taskScope+"checkpointAlignmentTime", "Alignment of the newest checkpoint in nanoseconds.", operator...),
		chunks:        desc("freshet_snapshot_chunks", "Chunks of a table's snapshot.", "table"),
		chunksDone:    desc("freshet_snapshot_chunks_done", "Chunks that have entered the log.", "table"),
		tableRows:     desc("freshet_snapshot_rows", "Rows of a table's snapshot that have entered the log.", "table"),
		snapshotting:  desc("flink_taskmanager_job_task_operator_isSnapshotting", "1 while the table's snapshot runs or waits.", "table"),
	}
	add := func(kind prometheus.ValueType, name, help string, value func(compose.Progress, *stream.Metrics) float64) {
		c.figures = append(c.figures, figure{desc(name, help), kind, value})
	}
	c.addCheckpoints(add)
	c.addSource(add)
	return c
}

type adder func(kind prometheus.ValueType, name, help string, value func(compose.Progress, *stream.Metrics) float64)

// addCheckpoints adds Flink's figures of checkpoints and restarts.
func (c *collector) addCheckpoints(add adder) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, jobScope+"lastCheckpointDuration", "Milliseconds from trigger to publication.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.LastDurationNanos.Load()) / 1e6 })
	add(gauge, jobScope+"lastCheckpointSize", "Bytes that the newest checkpoint added.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.LastBytes.Load()) })
	add(gauge, jobScope+"lastCheckpointFullSize", "Bytes of the newest checkpoint.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.LastFullBytes.Load()) })
	add(gauge, jobScope+"lastCompletedCheckpointId", "Id of the newest checkpoint, 0 for none.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.LastID.Load()) })
	add(gauge, jobScope+"lastCheckpointCompletedTimestamp", "When the newest checkpoint was published, in milliseconds since 1970.", func(_ compose.Progress, m *stream.Metrics) float64 {
		return float64(m.LastCompletedUnixNano.Load() / 1e6)
	})
	add(gauge, jobScope+"lastCheckpointRestoreTimestamp", "When a checkpoint was last restored, in milliseconds since 1970.", func(_ compose.Progress, m *stream.Metrics) float64 {
		return float64(m.RestoredUnixNano.Load() / 1e6)
	})
	add(gauge, jobScope+"numberOfCompletedCheckpoints", "Checkpoints that were published.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.Completed.Load()) })
	add(gauge, jobScope+"numberOfFailedCheckpoints", "Checkpoints that failed.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.Failed.Load()) })
	add(gauge, jobScope+"numberOfInProgressCheckpoints", "Checkpoints that run.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.InProgress.Load()) })
	add(gauge, jobScope+"numRestarts", "Restarts after failures.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.Restarts.Load()) })
	add(gauge, "freshet_checkpoint_age_seconds", "Time since the newest checkpoint was published; since the start when there is none.", func(p compose.Progress, m *stream.Metrics) float64 {
		return time.Since(lastCheckpoint(p, m)).Seconds()
	})
	add(gauge, "freshet_commit_duration_seconds", "Time from the publication of the newest checkpoint to its last commit in the sink.", func(_ compose.Progress, m *stream.Metrics) float64 { return float64(m.LastCommitNanos.Load()) / 1e9 })
	add(gauge, "freshet_up", "1 while the pipeline runs, 0 while it starts or waits for a restart.", func(p compose.Progress, _ *stream.Metrics) float64 {
		if p.Running {
			return 1
		}
		return 0
	})
	add(counter, "freshet_uptime_seconds_total", "Time since the pipeline was started.", func(p compose.Progress, _ *stream.Metrics) float64 { return time.Since(p.Started).Seconds() })
}

// addSource adds the figures of the source's reader.
func (c *collector) addSource(add adder) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, operatorScope+"currentEmitEventTimeLag", "Age of the newest emitted commit in milliseconds, 0 when there is nothing to read.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.LagTime.Milliseconds()) })
	add(gauge, operatorScope+"pendingBytes", "Bytes of the server's log that are still to be read.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.LagBytes) })
	add(gauge, "freshet_source_lag_seconds", "Age of the newest emitted commit, 0 when there is nothing to read.", func(p compose.Progress, _ *stream.Metrics) float64 { return p.LagTime.Seconds() })
	add(gauge, "freshet_source_lag_bytes", "Bytes of the server's log that are still to be read.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.LagBytes) })
	add(gauge, "freshet_source_retained_bytes", "Bytes of log that the server keeps for the pipeline, -1 where unknown.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.RetainedBytes) })
	add(gauge, "freshet_source_position", "Position in the log that has been emitted.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.Position) })
	add(gauge, "freshet_source_server_position", "Newest position of the server.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.Server) })
	add(gauge, "freshet_source_committed_position", "Position that the sink has committed.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.Committed) })
	add(counter, "freshet_source_snapshot_rows_total", "Rows read by snapshots in this execution.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.ReadRows) })
	add(counter, "freshet_source_change_rows_total", "Rows read from the log in this execution.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.ChangeRows) })
	add(counter, "freshet_source_bytes_total", "Bytes read in this execution.", func(p compose.Progress, _ *stream.Metrics) float64 { return float64(p.Bytes) })
	tables := func(remaining bool) func(compose.Progress, *stream.Metrics) float64 {
		return func(p compose.Progress, _ *stream.Metrics) float64 {
			n := 0
			for _, t := range p.Tables {
				if t.Snapshotting == remaining {
					n++
				}
			}
			return float64(n)
		}
	}
	add(gauge, operatorScope+"numTablesSnapshotted", "Tables whose snapshot is complete.", tables(false))
	add(gauge, operatorScope+"numTablesRemaining", "Tables whose snapshot runs or waits.", tables(true))
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		ch <- f.desc
	}
	for _, d := range []*prometheus.Desc{c.operatorIn, c.operatorOut, c.operatorBytes, c.idle, c.blocked, c.alignment, c.chunks, c.chunksDone, c.tableRows, c.snapshotting} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	p, m := c.job.Progress(), c.job.Metrics()
	for _, f := range c.figures {
		ch <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(p, m))
	}
	for _, s := range m.Subtasks() {
		labels := []string{s.UID, strconv.Itoa(s.Subtask)}
		for _, v := range []struct {
			desc  *prometheus.Desc
			kind  prometheus.ValueType
			value float64
		}{
			{c.operatorIn, prometheus.CounterValue, float64(s.RecordsIn)},
			{c.operatorOut, prometheus.CounterValue, float64(s.RecordsOut)},
			{c.operatorBytes, prometheus.CounterValue, float64(s.BytesOut)},
			{c.idle, prometheus.CounterValue, s.Idle.Seconds()},
			{c.blocked, prometheus.CounterValue, s.Blocked.Seconds()},
			{c.alignment, prometheus.GaugeValue, float64(s.Alignment.Nanoseconds())},
		} {
			ch <- prometheus.MustNewConstMetric(v.desc, v.kind, v.value, labels...)
		}
	}
	for _, t := range p.Tables {
		running := 0.0
		if t.Snapshotting {
			running = 1
		}
		name := t.Table.String()
		ch <- prometheus.MustNewConstMetric(c.chunks, prometheus.GaugeValue, float64(t.Chunks), name)
		ch <- prometheus.MustNewConstMetric(c.chunksDone, prometheus.GaugeValue, float64(t.Done), name)
		ch <- prometheus.MustNewConstMetric(c.tableRows, prometheus.GaugeValue, float64(t.Rows), name)
		ch <- prometheus.MustNewConstMetric(c.snapshotting, prometheus.GaugeValue, running, name)
	}
}
