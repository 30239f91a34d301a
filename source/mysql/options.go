package mysql

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// config is the parsed form of the options.
type config struct {
	conn    wire.Config
	match   func(schema.TableID) bool
	pattern string // the option tables, for messages
	// firstID and lastID are the range of server-id, 0 for a random one.
	firstID, lastID uint32

	mode   string
	offset offset // for specific-offset and timestamp
	// withoutGTID accepts a snapshot of MySQL without gtid_mode.
	withoutGTID bool
	// rereadRewritten reads a table again that was rewritten without row events.
	rereadRewritten bool
	// addOnRestart snapshots tables that match since the last checkpoint, addWhileRunning
	// captures created ones from the binlog.
	addOnRestart, addWhileRunning bool

	chunkSize int
	readers   int
	heartbeat time.Duration
	values    value.Options // MariaDB is set when connected
	// restPatience is how long a moment is looked for in which nobody writes to a table
	// without a key.
	restPatience time.Duration

	names names
}

// offset is where scan.startup.* wants to begin.
type offset struct {
	file                 string
	pos                  uint64
	gtidSet              string
	skipEvents, skipRows uint64
	since                time.Time
}

// newConfig parses the options, without connecting. Errors are *source.OptionError.
func newConfig(opts map[string]string, match func(schema.TableID) bool) (*config, error) {
	o, err := fillDefaults(opts)
	if err != nil {
		return nil, err
	}
	if err := refuse(o); err != nil {
		return nil, err
	}
	c := &config{match: match, pattern: o["tables"], mode: o["scan.startup.mode"], withoutGTID: o["scan.snapshot.accept-without-gtid"] == "true",
		rereadRewritten: o["scan.rewritten-tables"] == "snapshot",
		addOnRestart:    o["scan.newly-added-table.enabled"] == "true", addWhileRunning: o["scan.binlog.newly-added-table.enabled"] == "true",
		values: valueOptions(o), restPatience: restPatience}
	c.chunkSize, _ = strconv.Atoi(o["scan.incremental.snapshot.chunk.size"])
	c.readers, _ = strconv.Atoi(o["scan.snapshot.parallelism"])
	c.heartbeat, _ = time.ParseDuration(o["heartbeat.interval"])
	if c.conn, err = connection(o); err != nil {
		return nil, err
	}
	if c.firstID, c.lastID, err = serverIDs(o["server-id"]); err != nil {
		return nil, err
	}
	if c.offset, err = startOffset(o); err != nil {
		return nil, err
	}
	return c, nil
}

func valueOptions(o map[string]string) value.Options {
	v := value.Options{TinyInt1IsBool: o["treat-tinyint1-as-boolean.enabled"] == "true", LegacyJSON: o["use.legacy.json.format"] == "true"}
	v.ZeroDates = map[string]value.ZeroDates{"null": value.ZeroDateNull, "epoch": value.ZeroDateEpoch, "error": value.ZeroDateError}[o["zero-dates"]]
	v.Time = map[string]value.TimeMode{"time": value.TimeOfDay, "time-or-null": value.TimeOrNull, "string": value.TimeText}[o["time.mode"]]
	v.GeometryBytes = o["geometry.mode"] == "bytes"
	return v
}

// connection builds the configuration of connections and reads the TLS files.
func connection(o map[string]string) (wire.Config, error) {
	c := wire.Config{User: o["username"], Password: o["password"],
		TLS: wire.TLSConfig{Mode: wire.TLSMode(o["ssl.mode"]), CA: o["ssl.ca"], Cert: o["ssl.cert"], Key: o["ssl.key"]}}
	c.Timeout, _ = time.ParseDuration(o["connect.timeout"])
	c.Retries, _ = strconv.Atoi(o["connect.max-retries"])
	c.Port, _ = strconv.Atoi(o["port"])
	if c.Port > math.MaxUint16 {
		return c, &source.OptionError{Key: "port", Msg: fmt.Sprintf("%d is no port", c.Port)}
	}
	if c.Host = o["hostname"]; strings.HasPrefix(c.Host, "/") {
		c.Host, c.Socket = "", c.Host
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return c, &source.OptionError{Key: "ssl.cert", Msg: "certificate and key go together", Hint: "set both ssl.cert and ssl.key"}
	}
	if err := c.TLS.Load(); err != nil {
		key := "ssl.ca"
		if c.TLS.Cert != "" && strings.Contains(err.Error(), "client") {
			key = "ssl.cert"
		}
		return c, &source.OptionError{Key: key, Msg: err.Error()}
	}
	return c, nil
}

// serverIDs parses server-id: a number or a range a-b.
func serverIDs(text string) (first, last uint32, err error) {
	if text == "" {
		return 0, 0, nil
	}
	bad := &source.OptionError{Key: "server-id", Msg: fmt.Sprintf("%q is no server id", text), Hint: "use a number from 1 to 4294967295, or a range such as 5400-6400"}
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	a, errA := strconv.ParseUint(strings.TrimSpace(from), 10, 32)
	b, errB := strconv.ParseUint(strings.TrimSpace(to), 10, 32)
	if errA != nil || errB != nil || a == 0 || b < a {
		return 0, 0, bad
	}
	return uint32(a), uint32(b), nil
}

// startOffset parses what belongs to specific-offset and timestamp, and refuses it elsewhere.
func startOffset(o map[string]string) (offset, error) {
	const prefix = "scan.startup.specific-offset."
	mode := o["scan.startup.mode"]
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if strings.HasPrefix(key, prefix) && mode != modeSpecific || key == "scan.startup.timestamp-millis" && mode != modeTimestamp {
			return offset{}, &source.OptionError{Key: key, Msg: "does not go with scan.startup.mode: " + mode}
		}
	}
	f := offset{file: o[prefix+"file"], gtidSet: strings.Join(strings.Fields(o[prefix+"gtid-set"]), ""), pos: 4}
	for _, n := range []struct {
		key string
		to  *uint64
	}{{"pos", &f.pos}, {"skip-events", &f.skipEvents}, {"skip-rows", &f.skipRows}} {
		if err := unsigned(o, prefix+n.key, n.to); err != nil {
			return f, err
		}
	}
	var millis uint64
	if err := unsigned(o, "scan.startup.timestamp-millis", &millis); err != nil {
		return f, err
	}
	f.since = time.UnixMilli(int64(millis))
	_, posSet := o[prefix+"pos"]
	switch {
	case posSet && f.file == "":
		return f, &source.OptionError{Key: prefix + "pos", Msg: "a place needs its file", Hint: "set " + prefix + "file"}
	case mode == modeSpecific && f.file == "" && f.gtidSet == "":
		return f, &source.OptionError{Key: "scan.startup.mode", Msg: "specific-offset needs a place", Hint: "set " + prefix + "file and .pos, or " + prefix + "gtid-set"}
	case f.pos < 4:
		return f, &source.OptionError{Key: prefix + "pos", Msg: "the first event of a binlog file begins at 4"}
	case mode == modeTimestamp && millis == 0:
		return f, &source.OptionError{Key: "scan.startup.timestamp-millis", Msg: "is required for scan.startup.mode: timestamp"}
	}
	return f, nil
}

func unsigned(o map[string]string, key string, to *uint64) error {
	text, set := o[key]
	if !set {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return &source.OptionError{Key: key, Msg: fmt.Sprintf("%q is no whole number", text)}
	}
	*to = n
	return nil
}

// refuse names the options whose other values can't be had.
func refuse(o map[string]string) error {
	bad := func(key, msg, hint string) error { return &source.OptionError{Key: key, Msg: msg, Hint: hint} }
	switch {
	case o["scan.newly-added-table.enabled"] == "true" && o["scan.binlog.newly-added-table.enabled"] == "true":
		return bad("scan.binlog.newly-added-table.enabled", "can't be true together with scan.newly-added-table.enabled", "choose one: read new tables when the pipeline starts again, or capture created ones from the binlog")
	case o["scan.incremental.snapshot.backfill.skip"] == "true":
		return bad("scan.incremental.snapshot.backfill.skip", "skipping the backfill would deliver rows twice", "leave it out: no lock is taken and no row is kept in memory for it")
	case o["schema-change.enabled"] == "false":
		return bad("schema-change.enabled", "schema changes are always in the log", "set schema.change.behavior under pipeline, or exclude.schema.changes at the sink")
	case o["metadata.list"] != "":
		return bad("metadata.list", "metadata columns are not supported", "leave it out; an append sink has the operation and the commit time as columns")
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if strings.HasPrefix(key, "jdbc.properties.") || strings.HasPrefix(key, "debezium.") {
			return bad(key, "neither JDBC nor Debezium is at work here", insteadOf(key))
		}
	}
	return nil
}

// instead names our option for well-known properties of JDBC and Debezium.
var instead = map[string]string{
	"usessl": "ssl.mode", "sslmode": "ssl.mode", "requiressl": "ssl.mode", "verifyservercertificate": "ssl.mode", "database.ssl.mode": "ssl.mode",
	"trustcertificatekeystoreurl": "ssl.ca", "database.ssl.truststore": "ssl.ca", "clientcertificatekeystoreurl": "ssl.cert and ssl.key", "database.ssl.keystore": "ssl.cert and ssl.key",
	"zerodatetimebehavior": "zero-dates", "tinyint1isbit": "treat-tinyint1-as-boolean.enabled", "connecttimeout": "connect.timeout", "connect.timeout.ms": "connect.timeout",
	"heartbeat.interval.ms": "heartbeat.interval", "snapshot.mode": "scan.startup.mode", "database.server.id": "server-id", "table.include.list": "tables", "table.exclude.list": "tables.exclude",
	"time.precision.mode": "time.mode", "snapshot.fetch.size": "scan.incremental.snapshot.chunk.size", "snapshot.max.threads": "scan.snapshot.parallelism", "include.schema.comments": "include-comments.enabled",
}

func insteadOf(key string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(key, "jdbc.properties."), "debezium.")
	if ours := instead[strings.ToLower(name)]; ours != "" {
		return "use " + ours
	}
	return "leave it out"
}

// Source is one MySQL or MariaDB server. It is safe for concurrent use.
type Source struct {
	cfg    *config
	logger *slog.Logger
}

// New returns the source that opts describe, without connecting. match selects
// the captured tables by database (TableID.Schema) and name. Errors are *source.OptionError.
func New(opts map[string]string, match func(schema.TableID) bool, logger *slog.Logger) (*Source, error) {
	c, err := newConfig(opts, match)
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Source{cfg: c, logger: logger}, nil
}

// Kind returns mysql, for MariaDB too.
func (s *Source) Kind() string { return "mysql" }

// Close does nothing: every call has connections of its own.
func (s *Source) Close() error { return nil }
