package document

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Settings is the pipeline block, with defaults filled in.
type Settings struct {
	// Name is the pipeline's name; by default the document's file name without extension.
	Name        string
	Parallelism int
	// MaxParallelism is the number of key groups, 0 for the runtime's default.
	MaxParallelism int
	// Batch says that the pipeline ends with the snapshot (execution.runtime-mode: BATCH).
	Batch bool

	CheckpointInterval, CheckpointTimeout, CheckpointPause time.Duration
	// CheckpointDir is an absolute local folder.
	CheckpointDir        string
	RetainedCheckpoints  int
	TolerableCheckpoints int
	// StateBackend is pebble or hashmap; StateDir is the local folder for
	// working state, empty for the default.
	StateBackend, StateDir string

	Restart Restart
	// FirstMatch says that only the first matching route applies to a table.
	FirstMatch bool
	// LocalTimeZone is the zone of time functions; nil is the system's.
	LocalTimeZone *time.Location
	// SchemaChangeBehavior is what the document says, empty for nothing.
	SchemaChangeBehavior string
	// MetricsAddress is where /healthz and /metrics are served, host:port; empty
	// for off. MetricsDefault says that the document does not name one: another
	// port may be taken.
	MetricsAddress string
	MetricsDefault bool
}

// Restart says how a failed pipeline starts again in its process.
type Restart struct {
	// Initial and Max bound the delay, Multiplier is what each failure in a row
	// multiplies it by, Jitter the share that chance changes (negative for none).
	Initial, Max       time.Duration
	Multiplier, Jitter float64
	// ResetAfter is how long the pipeline must have run for the delay to start anew.
	ResetAfter time.Duration
	// Attempts is the number of restarts in a row, 0 for no limit, negative for no restart.
	Attempts int
}

const (
	keyInterval     = "execution.checkpointing.interval"
	keyTimeout      = "execution.checkpointing.timeout"
	keyPause        = "execution.checkpointing.min-pause"
	keyDir          = "execution.checkpointing.dir"
	keyDirOld       = "state.checkpoints.dir"
	keyRetained     = "execution.checkpointing.num-retained"
	keyRetainedOld  = "state.checkpoints.num-retained"
	keyTolerable    = "execution.checkpointing.tolerable-failed-checkpoints"
	keyBackend      = "state.backend.type"
	keyBackendOld   = "state.backend"
	keyStateDir     = "io.tmp.dirs"
	keyRestart      = "restart-strategy.type"
	keyRestartOld   = "restart-strategy"
	exponential     = "restart-strategy.exponential-delay."
	fixed           = "restart-strategy.fixed-delay."
	keyBehavior     = "schema.change.behavior"
	keyMetrics      = "metrics.address"
	keyMode         = "execution.runtime-mode"
	defaultMetrics  = "127.0.0.1:9249" // the port of Flink's Prometheus reporter
	keyPartitioning = "sink.partitioning.strategy"
)

// PipelineOptions returns the options of the pipeline block, for validation and help.
func PipelineOptions() []Option {
	strategies := []string{"exponential-delay", "fixed-delay", "none", "off", "disable", "exponentialdelay", "fixeddelay"}
	backends := []string{"pebble", "hashmap"}
	return []Option{
		{Key: "name", Type: "string", Doc: "name of the pipeline; it owns the checkpoint directory"},
		{Key: "parallelism", Type: "int", Default: "1", Doc: "subtasks of the sink"},
		{Key: "pipeline.max-parallelism", Type: "int", Doc: "number of key groups; fixed once the pipeline has state"},
		{Key: keyMode, Type: "enum", Default: "STREAMING", Values: []string{"STREAMING", "BATCH"}, Doc: "BATCH ends with the snapshot and needs scan.startup.mode: snapshot"},
		{Key: keyInterval, Type: "duration", Default: "10s", Doc: "time between checkpoints; rows become visible with each"},
		{Key: keyTimeout, Type: "duration", Default: "10 min", Doc: "a checkpoint that takes longer is given up"},
		{Key: keyPause, Type: "duration", Default: "0 s", Doc: "least time between the end of a checkpoint and the next"},
		{Key: keyDir, Type: "string", Doc: "folder of the checkpoints, file:///path or a path relative to the document; by default checkpoints/NAME beside the document"},
		{Key: keyDirOld, Type: "string", Doc: "older name of " + keyDir},
		{Key: keyRetained, Type: "int", Default: "3", Doc: "completed checkpoints to keep"},
		{Key: keyRetainedOld, Type: "int", Doc: "older name of " + keyRetained},
		{Key: keyTolerable, Type: "int", Default: "0", Doc: "checkpoints in a row that may fail before the pipeline restarts"},
		{Key: keyBackend, Type: "enum", Default: "pebble", Values: backends, Doc: "where keyed state lies: on disk, or in memory"},
		{Key: keyBackendOld, Type: "enum", Values: backends, Doc: "older name of " + keyBackend},
		{Key: keyStateDir, Type: "string", Doc: "local folder for working state"},
		{Key: keyRestart, Type: "enum", Default: "exponential-delay", Values: strategies, Doc: "what happens after a failure that may pass"},
		{Key: keyRestartOld, Type: "enum", Values: strategies, Doc: "older name of " + keyRestart},
		{Key: exponential + "initial-backoff", Type: "duration", Default: "1s", Doc: "first delay"},
		{Key: exponential + "max-backoff", Type: "duration", Default: "1 min", Doc: "longest delay"},
		{Key: exponential + "backoff-multiplier", Type: "float", Default: "1.5", Doc: "growth of the delay"},
		{Key: exponential + "reset-backoff-threshold", Type: "duration", Default: "1 h", Doc: "time without a failure after which the delay starts anew"},
		{Key: exponential + "jitter-factor", Type: "float", Default: "0.1", Doc: "share of the delay that chance changes"},
		{Key: exponential + "attempts-before-reset-backoff", Type: "int", Doc: "restarts in a row before the pipeline fails; no limit by default"},
		{Key: fixed + "attempts", Type: "int", Default: "1", Doc: "restarts before the pipeline fails"},
		{Key: fixed + "delay", Type: "duration", Default: "1s", Doc: "time before each restart"},
		{Key: keyBehavior, Type: "enum", Values: []string{"evolve", "exception", "try_evolve", "lenient", "ignore"}, Doc: "evolve applies each change 1:1; the other values come later"},
		{Key: "route-mode", Type: "enum", Default: "ALL_MATCH", Values: []string{"ALL_MATCH", "FIRST_MATCH"}, Doc: "whether every matching route applies to a table or the first"},
		{Key: "local-time-zone", Type: "string", Default: "systemDefault", Doc: "zone of time functions"},
		{Key: keyMetrics, Type: "string", Default: defaultMetrics, Doc: "host:port of /healthz and /metrics, or off"},
		{Key: keyPartitioning, Type: "enum", Default: "SINK_DEFINED", Values: []string{"SINK_DEFINED", "PRIMARY_KEY", "TABLE_ID"}, Doc: "rows always go to subtasks by primary key; TABLE_ID comes later"},
		{Key: "schema-operator.rpc-timeout", Type: "duration", Doc: "taken for Flink CDC's sake, without effect"},
		{Key: "operator.uid.prefix", Type: "string", Doc: "taken for Flink CDC's sake, without effect"},
		{Key: "schema.operator.uid", Type: "string", Doc: "taken for Flink CDC's sake, without effect"},
	}
}

// settings fills Settings from the checked values of the pipeline block.
type settings struct {
	*reader
	fields []field
	values map[string]string
}

func (s *settings) has(key string) bool { _, ok := s.values[key]; return ok }

// at returns the place of a key's value.
func (s *settings) at(key string) Place {
	for _, f := range s.fields {
		if f.key == key {
			return f.place
		}
	}
	return Place{File: s.file, Line: 1, Column: 1}
}

// shown returns the value of a key as a problem may print it.
func (s *settings) shown(key string) string { return s.part(key, s.values[key]) }

// part returns a part of the value of a key as a problem may print it.
func (s *settings) part(key, part string) string {
	for _, f := range s.fields {
		if f.key == key && (f.env || f.file) {
			return f.raw
		}
	}
	return part
}

// alias returns whichever of two names of one option is given; both is a problem.
func (s *settings) alias(key, old string) string {
	if s.has(key) && s.has(old) {
		s.report(s.at(old), "keep "+key, "%q and %q are two names of one option", key, old)
	}
	if s.has(old) && !s.has(key) {
		return old
	}
	return key
}

func (s *settings) text(key, fallback string) string {
	if v, ok := s.values[key]; ok && v != "" {
		return v
	}
	return fallback
}

func (s *settings) number(key string, fallback, least, most int) int {
	v, ok := s.values[key]
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		limit := fmt.Sprintf("%d or more", least)
		if most < math.MaxInt {
			limit = fmt.Sprintf("from %d to %d", least, most)
		}
		s.report(s.at(key), "", "%q must be %s, but is %s", key, limit, s.shown(key))
		return fallback
	}
	return n
}

func (s *settings) factor(key string, fallback, least, most float64) float64 {
	v, ok := s.values[key]
	if !ok {
		return fallback
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= least && n <= most) {
		s.report(s.at(key), "", "%q must be from %g to %g, but is %s", key, least, most, s.shown(key))
		return fallback
	}
	return n
}

func (s *settings) duration(key string, fallback, least time.Duration) time.Duration {
	v, ok := s.values[key]
	if !ok {
		return fallback
	}
	d, err := ParseDuration(v)
	if err != nil || d < least {
		s.report(s.at(key), "", "%q must be %s or more, but is %s", key, least, s.shown(key))
		return fallback
	}
	return d
}

// decode turns the values into Settings.
func (s *settings) decode() Settings {
	base := filepath.Base(s.file)
	out := Settings{
		Name:                 s.text("name", strings.TrimSuffix(base, filepath.Ext(base))),
		Parallelism:          s.number("parallelism", 1, 1, 1<<15),
		MaxParallelism:       s.number("pipeline.max-parallelism", 0, 1, 1<<15),
		Batch:                s.text(keyMode, "STREAMING") == "BATCH",
		CheckpointInterval:   s.duration(keyInterval, 10*time.Second, 10*time.Millisecond),
		CheckpointTimeout:    s.duration(keyTimeout, 10*time.Minute, 10*time.Millisecond),
		CheckpointPause:      s.duration(keyPause, 0, 0),
		RetainedCheckpoints:  s.number(s.alias(keyRetained, keyRetainedOld), 3, 1, math.MaxInt),
		TolerableCheckpoints: s.number(keyTolerable, 0, 0, math.MaxInt),
		StateBackend:         s.text(s.alias(keyBackend, keyBackendOld), "pebble"),
		FirstMatch:           s.text("route-mode", "ALL_MATCH") == "FIRST_MATCH",
		SchemaChangeBehavior: s.text(keyBehavior, ""),
	}
	out.CheckpointDir = s.checkpointDir(out.Name)
	if s.has(keyStateDir) {
		out.StateDir = s.folder(keyStateDir)
	}
	if m := out.MaxParallelism; m > 0 && m < out.Parallelism {
		s.report(s.at("pipeline.max-parallelism"), "", "%q is %d, less than the parallelism, %d", "pipeline.max-parallelism", m, out.Parallelism)
	}
	if b := out.SchemaChangeBehavior; b != "" && b != "evolve" {
		s.report(s.at(keyBehavior), "write evolve, or leave it out", "%q: %s is not there yet", keyBehavior, b)
	}
	if s.text(keyPartitioning, "") == "TABLE_ID" {
		s.report(s.at(keyPartitioning), "leave it out", "%q: TABLE_ID is not there yet", keyPartitioning)
	}
	out.Restart = s.restart()
	out.LocalTimeZone = s.zone()
	out.MetricsAddress, out.MetricsDefault = s.metrics()
	return out
}

func (s *settings) checkpointDir(name string) string {
	key := s.alias(keyDir, keyDirOld)
	if s.has(key) {
		return s.folder(key)
	}
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) || r < ' ' {
			return '_'
		}
		return r
	}, name)
	return s.absolute(filepath.Join("checkpoints", safe))
}

// folder reads a local folder: file:///path, or a path relative to the document.
func (s *settings) folder(key string) string {
	text := s.values[key]
	u, err := url.Parse(text)
	switch {
	case text == "":
		s.report(s.at(key), "", "%q is empty", key)
	case err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost"):
		return s.absolute(u.Path)
	case err == nil && u.Scheme == "file":
		s.report(s.at(key), "three slashes: file:///path", "%q: %q is a host, not a folder", key, s.part(key, u.Host))
	case err == nil && len(u.Scheme) > 1 && strings.Contains(text, "://"):
		s.report(s.at(key), "use file:///path", "%q: %s is not there yet", key, s.part(key, u.Scheme+"://"))
	default:
		return s.absolute(text)
	}
	return ""
}

// absolute resolves a path against the folder of the document.
func (s *settings) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.file), path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func (s *settings) restart() Restart {
	kind := s.text(s.alias(keyRestart, keyRestartOld), "exponential-delay")
	wrong := map[string]string{"exponential-delay": fixed, "exponentialdelay": fixed, "fixed-delay": exponential, "fixeddelay": exponential}[kind]
	for _, f := range s.fields {
		other := wrong == "" && strings.HasPrefix(f.key, keyRestartOld+".") && f.key != keyRestart
		if other || wrong != "" && strings.HasPrefix(f.key, wrong) {
			s.report(f.keyPlace, "remove it, or change "+keyRestart, "%q does nothing with the restart strategy %s", f.key, kind)
		}
	}
	switch kind {
	case "none", "off", "disable":
		return Restart{Attempts: -1}
	case "fixed-delay", "fixeddelay":
		delay := s.duration(fixed+"delay", time.Second, 0)
		r := Restart{Initial: max(delay, time.Nanosecond), Max: delay, Multiplier: 1, Jitter: -1, ResetAfter: 100 * 365 * 24 * time.Hour}
		if r.Attempts = s.number(fixed+"attempts", 1, 0, math.MaxInt); r.Attempts == 0 {
			r.Attempts = -1
		}
		return r
	}
	r := Restart{
		Initial:    s.duration(exponential+"initial-backoff", time.Second, time.Millisecond),
		Max:        s.duration(exponential+"max-backoff", time.Minute, time.Millisecond),
		Multiplier: s.factor(exponential+"backoff-multiplier", 1.5, 1, 1000),
		Jitter:     s.factor(exponential+"jitter-factor", 0.1, 0, 1),
		ResetAfter: s.duration(exponential+"reset-backoff-threshold", time.Hour, time.Millisecond),
		Attempts:   s.number(exponential+"attempts-before-reset-backoff", 0, 1, math.MaxInt),
	}
	if r.Jitter == 0 {
		r.Jitter = -1
	}
	if r.Initial > r.Max {
		s.report(s.at(exponential+"initial-backoff"), "", "the first delay, %s, is longer than the longest, %s", r.Initial, r.Max)
	}
	return r
}

func (s *settings) zone() *time.Location {
	name := s.text("local-time-zone", "systemDefault")
	if name == "systemDefault" {
		return nil
	}
	if rest, ok := strings.CutPrefix(name, "GMT"); ok && rest != "" {
		if t, err := time.Parse("-07:00", rest); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(name, offset)
		}
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		s.report(s.at("local-time-zone"), "write a name such as Europe/Berlin, an offset such as GMT+08:00, or UTC", "%q: unknown time zone %q", "local-time-zone", s.shown("local-time-zone"))
		return nil
	}
	return loc
}

func (s *settings) metrics() (address string, isDefault bool) {
	v := s.text(keyMetrics, "")
	switch v {
	case "":
		return defaultMetrics, true
	case "off":
		return "", false
	}
	if _, port, err := net.SplitHostPort(v); err == nil {
		if n, err := strconv.Atoi(port); err == nil && n >= 0 && n < 1<<16 {
			return v, false
		}
	}
	s.report(s.at(keyMetrics), "", "%q must be host:port or off, but is %q", keyMetrics, s.shown(keyMetrics))
	return "", false
}
