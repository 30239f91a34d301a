package iceberg

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	iceberggo "github.com/apache/iceberg-go"

	"github.com/freshet-cdc/freshet/sink"
)

// Keys of the options that are read in more than one place.
const (
	optType       = "catalog.properties.type"
	optURI        = "catalog.properties.uri"
	optWarehouse  = "catalog.properties.warehouse"
	optName       = "catalog.properties.name"
	optProperties = "table.properties."
	optAccept     = "sink.accept-existing-tables"
	optKeep       = "history.expire.min-snapshots-to-keep"
)

// Table properties that maintenance goes by; the names are Iceberg's.
const (
	propMaxSnapshotAge   = "history.expire.max-snapshot-age-ms"
	propMinSnapshots     = "history.expire.min-snapshots-to-keep"
	propDeleteMetadata   = "write.metadata.delete-after-commit.enabled"
	propPreviousVersions = "write.metadata.previous-versions-max"
	propGC               = "gc.enabled"
	propMinMerge         = "commit.manifest.min-count-to-merge"
	propMergeEnabled     = "commit.manifest-merge.enabled"
	propManifestSize     = "commit.manifest.target-size-bytes"
)

// defaultKeep is how many snapshots of a table are kept whatever their age.
const defaultKeep = 10

// options are the parsed options of a sink.
type options struct {
	uri, warehouse, name string
	mode                 writeMode
	infinity             infinityMode
	targetFileSize       int64
	maxOpenFiles         int
	bufferBytes          int64
	compressionLevel     int
	acceptExisting       bool
	commitParallelism    int
	commitTimeout        time.Duration
	commitRetryTime      time.Duration
	expire               bool
	// keepInProperties says that table.properties.* sets the snapshots to keep.
	keepInProperties bool
	// properties are written into tables that the sink creates.
	properties iceberggo.Properties
}

// Specs lists the options. catalog.properties.* are named as PyIceberg names
// them, table.properties.* and history.expire.* as Iceberg does.
func Specs() []sink.OptionSpec {
	return []sink.OptionSpec{
		{Key: optType, Type: "enum", Required: true, Values: []string{"sql"}, Doc: "Kind of the catalog: sql keeps it in an SQLite or PostgreSQL database."},
		{Key: optURI, Type: "string", Required: true, Secret: true, Doc: "Where the catalog is: sqlite:///absolute/path/catalog.db (PyIceberg wants four slashes, which are taken as well) or postgres://user:password@host/database."},
		{Key: optWarehouse, Type: "string", Required: true, Doc: "Folder of the tables: file:///absolute/path."},
		{Key: optName, Type: "string", Default: "freshet", Doc: "Name of the catalog inside its database; readers must use the same."},
		{Key: "write.mode", Type: "enum", Default: "upsert", Values: []string{"upsert", "append"}, Doc: "upsert keeps each table equal to its source; append writes a changelog. Tables without a key are always changelogs."},
		{Key: "write.target-file-size-bytes", Type: "bytes", Default: "134217728", Doc: "Size at which a data file is closed."},
		{Key: "write.max-open-files", Type: "int", Default: "32", Doc: "Data files that one writer has open at a time."},
		{Key: "write.buffer-bytes", Type: "bytes", Default: "67108864", Doc: "Memory that one writer may hold back before it writes."},
		{Key: "write.parquet.compression-level", Type: "int", Default: "1", Doc: "zstd level, 1 to 22."},
		{Key: "temporal.infinity", Type: "enum", Default: "clamp", Values: []string{"clamp", "null", "error"}, Doc: "What becomes of infinite dates and timestamps and of 24:00:00: the nearest value that readers can hold, NULL (an error in a key), or an error."},
		{Key: "commit.parallelism", Type: "int", Default: "4", Doc: "Tables committed at the same time."},
		{Key: "commit.timeout", Type: "duration", Default: "30s", Doc: "Time that one attempt to commit a table may take."},
		{Key: "commit.retry.total-timeout", Type: "duration", Default: "2m", Doc: "Time after which a table that can't be committed is an error."},
		{Key: optAccept, Type: "bool", Default: "false", Doc: "Take over existing tables that no pipeline has written and whose schema fits."},
		{Key: "history.expire.enabled", Type: "bool", Default: "true", Doc: "Expire old snapshots and remove what only they need."},
		{Key: "history.expire.max-snapshot-age", Type: "duration", Default: "1h", Doc: "Snapshots older than this are expired."},
		{Key: optKeep, Type: "int", Default: strconv.Itoa(defaultKeep), Doc: "Newest snapshots that are kept whatever their age: at least as many as checkpoints are retained, or tables can't be rolled back to them."},
		{Key: "table.properties.*", Type: "string", Doc: "Table properties for the tables that the sink creates."},
	}
}

// New returns the sink that opts describe. Nothing is opened yet. A bad option is a
// [*sink.OptionError].
func New(opts map[string]string, logger *slog.Logger) (*Sink, error) {
	o, err := parseOptions(opts)
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	registerDurable()
	return &Sink{opts: o, logger: logger}, nil
}

// optionReader takes options out of the map; the first error stays.
type optionReader struct {
	opts map[string]string
	err  error
}

func (r *optionReader) fail(key, msg, hint string) {
	if r.err == nil {
		r.err = &sink.OptionError{Key: key, Msg: msg, Hint: hint}
	}
}

// text returns the option or its default from [Specs].
func (r *optionReader) text(key string) string {
	if v, ok := r.opts[key]; ok {
		return v
	}
	specs := Specs()
	i := slices.IndexFunc(specs, func(s sink.OptionSpec) bool { return s.Key == key })
	if specs[i].Required {
		r.fail(key, "it is missing", specs[i].Doc)
	}
	return specs[i].Default
}

func (r *optionReader) number(key string, low, high int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(r.text(key)), 10, 64)
	if err != nil || n < low || n > high {
		r.fail(key, fmt.Sprintf("%q is not a number from %d to %d", r.text(key), low, high), "")
	}
	return n
}

// bytes reads a size: a number of bytes, or one with a unit of 1024 (kb, mb, gb).
func (r *optionReader) bytes(key string, low int64) int64 {
	text := strings.ToLower(strings.ReplaceAll(r.text(key), " ", ""))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	units := map[string]int64{"": 1, "b": 1, "bytes": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30}
	unit, known := units[text[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n > math.MaxInt64/unit || n*unit < low {
		r.fail(key, fmt.Sprintf("%q is not a size of at least %d bytes", r.text(key), low), "for instance 134217728 or 128mb")
		return low
	}
	return n * unit
}

func (r *optionReader) flag(key string) bool {
	b, err := strconv.ParseBool(r.text(key))
	if err != nil {
		r.fail(key, fmt.Sprintf("%q is neither true nor false", r.text(key)), "")
	}
	return b
}

// flinkUnits are the units of a duration as Flink writes them.
var flinkUnits = strings.NewReplacer("milliseconds", "ms", "millis", "ms", "seconds", "s", "sec", "s", "minutes", "m", "minute", "m", "min", "m", "hours", "h", "hour", "h")

// duration reads Go's and Flink's notation: 90s, 1h30m, 10 min, 1 d.
func (r *optionReader) duration(key string) time.Duration {
	text := flinkUnits.Replace(strings.ReplaceAll(r.text(key), " ", ""))
	scale := time.Duration(1)
	for _, days := range []string{"days", "day", "d"} {
		if n, ok := strings.CutSuffix(text, days); ok {
			text, scale = n+"h", 24
			break
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > math.MaxInt64/scale {
		r.fail(key, fmt.Sprintf("%q is not a positive duration", r.text(key)), "for instance 30s, 5min or 1h")
		return time.Second
	}
	return d * scale
}

func (r *optionReader) enum(key string) string {
	specs := Specs()
	i := slices.IndexFunc(specs, func(s sink.OptionSpec) bool { return s.Key == key })
	v := r.text(key)
	if !slices.Contains(specs[i].Values, v) {
		r.fail(key, fmt.Sprintf("%q is unknown", v), "there is "+strings.Join(specs[i].Values, ", "))
	}
	return v
}

func parseOptions(opts map[string]string) (options, error) {
	r := &optionReader{opts: opts}
	for _, key := range slices.Sorted(maps.Keys(opts)) {
		known := func(s sink.OptionSpec) bool {
			prefix, family := strings.CutSuffix(s.Key, "*")
			return s.Key == key || family && strings.HasPrefix(key, prefix)
		}
		if !slices.ContainsFunc(Specs(), known) {
			r.fail(key, "the sink iceberg has no such option", "")
		}
	}
	r.enum(optType)
	o := options{
		uri:               r.text(optURI),
		warehouse:         strings.TrimRight(r.text(optWarehouse), "/"),
		name:              r.text(optName),
		mode:              map[string]writeMode{"upsert": modeUpsert, "append": modeAppend}[r.enum("write.mode")],
		infinity:          map[string]infinityMode{"clamp": infinityClamp, "null": infinityNull, "error": infinityError}[r.enum("temporal.infinity")],
		targetFileSize:    r.bytes("write.target-file-size-bytes", 1<<10),
		maxOpenFiles:      int(r.number("write.max-open-files", 1, 1<<16)),
		bufferBytes:       r.bytes("write.buffer-bytes", 1<<20),
		compressionLevel:  int(r.number("write.parquet.compression-level", 1, 22)),
		acceptExisting:    r.flag(optAccept),
		commitParallelism: int(r.number("commit.parallelism", 1, 256)),
		commitTimeout:     r.duration("commit.timeout"),
		commitRetryTime:   r.duration("commit.retry.total-timeout"),
		expire:            r.flag("history.expire.enabled"),
	}
	o.properties = tableProperties(r)
	_, o.keepInProperties = opts[optProperties+propMinSnapshots]
	checkLocations(r, o)
	return o, r.err
}

// tableProperties are those of new tables: ours, then the user's over them. Readers and
// other tools go by the same names, so what maintenance does is visible there.
func tableProperties(r *optionReader) iceberggo.Properties {
	p := iceberggo.Properties{
		propMaxSnapshotAge:                strconv.FormatInt(r.duration("history.expire.max-snapshot-age").Milliseconds(), 10),
		propMinSnapshots:                  strconv.FormatInt(r.number(optKeep, 1, 1<<30), 10),
		propDeleteMetadata:                "true",
		propPreviousVersions:              "20",
		"format-version":                  "2",
		"write.parquet.compression-codec": "zstd",
		"write.delete.mode":               "merge-on-read",
		"write.update.mode":               "merge-on-read",
		"write.merge.mode":                "merge-on-read",
	}
	for key, value := range r.opts {
		name, ok := strings.CutPrefix(key, optProperties)
		switch {
		case !ok:
		case name == "format-version" && value != "2":
			r.fail(key, fmt.Sprintf("format version %s is not supported", value), "the sink writes version 2")
		case strings.HasPrefix(name, markerPrefix):
			r.fail(key, "properties that begin with "+markerPrefix+" are the sink's own", "")
		default:
			p[name] = value
		}
	}
	return p
}

// CheckRetained implements [sink.Retaining]: a table goes back to a checkpoint by
// the snapshot that has its marker.
func (s *Sink) CheckRetained(checkpoints int) error {
	keep := s.opts.properties.GetInt(propMinSnapshots, defaultKeep)
	if !s.opts.expire || !s.opts.properties.GetBool(propGC, true) || keep >= checkpoints {
		return nil
	}
	key := optKeep
	if s.opts.keepInProperties {
		key = optProperties + propMinSnapshots
	}
	return &sink.OptionError{Key: key,
		Msg:  fmt.Sprintf("%d snapshots of a table are kept, fewer than the %d checkpoints that are retained: a table could not go back to the older ones", keep, checkpoints),
		Hint: fmt.Sprintf("set %s to %d or more, or retain fewer checkpoints", key, checkpoints)}
}

func checkLocations(r *optionReader, o options) {
	if r.err != nil {
		return
	}
	checkURI(r, o.uri)
	path, err := localPath(o.warehouse)
	if err != nil {
		r.fail(optWarehouse, err.Error(), "only local folders are supported: file:///absolute/path")
	} else if !strings.HasPrefix(o.warehouse, "file://") || !filepath.IsAbs(path) || strings.ContainsAny(o.warehouse, "?#%") {
		r.fail(optWarehouse, fmt.Sprintf("%q is not a plain absolute file URI", o.warehouse), "file:///absolute/path")
	}
}

// checkURI checks the address of the catalog; no message shows it.
func checkURI(r *optionReader, uri string) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		r.fail(optURI, "it is not a URI", "sqlite:///absolute/path/catalog.db, or postgres://user:password@host/database; escape special characters of the password as %XX")
	case u.Scheme == "sqlite" && (u.Host != "" || u.Path == ""):
		r.fail(optURI, "the path is not absolute", "sqlite:// and an absolute path, so three slashes: sqlite:///var/lib/freshet/catalog.db")
	case u.Scheme == "sqlite":
	case !slices.Contains([]string{"postgres", "postgresql"}, strings.Split(u.Scheme, "+")[0]):
		r.fail(optURI, fmt.Sprintf("scheme %q is unknown", u.Scheme), "there is sqlite:///absolute/path/catalog.db and postgres://user:password@host/database")
	default:
		var bad *sink.OptionError
		if _, err := parsePostgres(uri); errors.As(err, &bad) {
			r.fail(bad.Key, bad.Msg, bad.Hint)
		}
	}
}
