package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pglogrepl"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// Startup modes, with Flink CDC's names.
const (
	modeInitial  = "initial"
	modeLatest   = "latest-offset"
	modeSnapshot = "snapshot"
)

// What the options say of rows that come and go with partitions, beside ignore and keep.
const (
	partitionStop   = "stop"
	partitionReread = "reread"
)

// Specs lists the options of the source. Names and meanings are Flink CDC's
// where it has them, libpq's for ssl*.
func Specs() []source.OptionSpec {
	return append(connectionSpecs(), captureSpecs()...)
}

func connectionSpecs() []source.OptionSpec {
	str := func(key, def, doc string) source.OptionSpec {
		return source.OptionSpec{Key: key, Type: "string", Default: def, Doc: doc}
	}
	return []source.OptionSpec{
		{Key: "url", Type: "string", Secret: true, Doc: "Connection URL (postgres://user:password@host:port/database?sslmode=...) or libpq keyword string; single keys override its parts."},
		str("hostname", "", "Host name, address or the folder of a Unix socket. Required unless url is set."),
		{Key: "port", Type: "int", Default: "5432", Doc: "Port of the server."},
		str("username", "", "Role to log in as; needs LOGIN and REPLICATION, and SELECT on the captured tables."),
		{Key: "password", Type: "string", Secret: true, Doc: "Password. Without it PGPASSWORD, PGPASSFILE and ~/.pgpass are looked at, as libpq does."},
		str("database", "", "Database to capture; without it the first part of tables."),
		{Key: "sslmode", Type: "enum", Default: "prefer", Values: []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}, Doc: "Encryption, as in libpq."},
		str("sslrootcert", "", "File with the certificates of the authorities that may have signed the server's."),
		str("sslcert", "", "File with the client's certificate."),
		str("sslkey", "", "File with the client's key."),
		{Key: "sslpassword", Type: "string", Secret: true, Doc: "Password of the client's key."},
		{Key: "connect.timeout", Type: "duration", Default: "30s", Doc: "How long a connection attempt may take."},
	}
}

func captureSpecs() []source.OptionSpec {
	return []source.OptionSpec{
		{Key: "tables", Type: "string", Required: true, Doc: `Tables to capture, database.schema.table: regular expressions in each part, several separated by commas, for instance shop.public.\.*`},
		{Key: "tables.exclude", Type: "string", Doc: "Tables to leave out, in the same form."},
		{Key: "table-id.include-database", Type: "bool", Default: "false", Doc: "Name tables database.schema.table instead of schema.table in routes and sinks."},
		{Key: "slot.name", Type: "string", Required: true, Doc: "Replication slot of this pipeline; created when missing and kept when the pipeline stops. Lower case letters, digits and underscores."},
		{Key: "slot.failover", Type: "bool", Default: "false", Doc: "Let standbys keep a copy of the slot (PostgreSQL 17 or newer, with sync_replication_slots there), so that the pipeline goes on behind a failover. List the standby's physical slot in synchronized_standby_slots of the primary, or a failover may lose what was captured."},
		{Key: "decoding.plugin.name", Type: "enum", Default: "pgoutput", Values: []string{"pgoutput"}, Doc: "Output plugin of the slot."},
		{Key: "publication.name", Type: "string", Doc: "Publication of the captured tables; by default the slot's name. Tables without a replica identity go into a second one, the name followed by _inserts."},
		{Key: "publication.autocreate.mode", Type: "enum", Default: "filtered", Values: []string{"filtered", "disabled"}, Doc: "filtered: create the publications and add captured tables to them; disabled: they must be there."},
		{Key: "scan.startup.mode", Type: "enum", Default: modeInitial, Values: []string{modeInitial, modeLatest, modeSnapshot}, Doc: "initial: snapshot and log; latest-offset: only changes from now on; snapshot: snapshot only, then end."},
		{Key: "scan.incremental.snapshot.chunk.size", Type: "int", Default: "100000", Doc: "Rows of a snapshot chunk, by the server's estimate."},
		{Key: "scan.snapshot.parallelism", Type: "int", Default: "2", Doc: "Connections that read snapshot chunks at the same time. With 1, where a sink prints the place of rows in the snapshot, tables are read one after the other, and the last row of all is told."},
		{Key: "partition.attach.mode", Type: "enum", Default: partitionStop, Values: []string{partitionStop, partitionReread, "ignore"}, Doc: "What becomes of a partition that is attached behind the snapshot with rows, for which the log has no events: stop with an error; reread the table; ignore them, for instance because the partition was empty when it was attached. Partitions that are created as such, or still empty, are always followed."},
		{Key: "partition.detach.mode", Type: "enum", Default: partitionStop, Values: []string{partitionStop, partitionReread, "keep"}, Doc: "What becomes of the rows of a partition that is detached, dropped or truncated behind the snapshot, for which the log has no events: stop with an error; reread the table; keep them in the target."},
		{Key: "heartbeat.interval", Type: "duration", Default: "30s", Doc: "How often the server is asked for its position while nothing happens, so that an idle pipeline does not hold its log."},
		{Key: "decimal.special-values", Type: "enum", Default: "error", Values: []string{"error", "null", "keep"}, Doc: "What becomes of NaN and Infinity in a numeric with a declared precision. keep: such columns are numerics of any size, which not every sink can hold."},
		{Key: "array.mode", Type: "enum", Default: "list", Values: []string{"list", "text"}, Doc: "list: arrays are lists as deep as declared; text: the server's own text, any shape."},
	}
}

// config is the parsed form of the options.
type config struct {
	conn        connOptions
	database    string
	match       func(schema.TableID) bool
	pattern     string // the option tables, for messages
	withDB      bool   // tables are called database.schema.table
	slot        string
	failover    bool // the slot is kept by standbys as well
	publication string
	autocreate  bool
	mode        string
	chunkSize   int
	readers     int
	heartbeat   time.Duration
	onAttach    string // what becomes of rows that come and go with partitions
	onDetach    string
	text        textOptions
}

// Source is one PostgreSQL database. It is safe for concurrent use.
type Source struct {
	cfg    *config
	logger *slog.Logger
}

var slotName = regexp.MustCompile(`^[a-z0-9_]{1,63}$`)

// New returns the source that opts describe, without connecting. match selects
// the captured tables by (database, schema, table). Errors are *source.OptionError.
func New(opts map[string]string, match func(schema.TableID) bool, logger *slog.Logger) (*Source, error) {
	o, err := fillDefaults(opts)
	if err != nil {
		return nil, err
	}
	c := &config{match: match, pattern: o["tables"], withDB: o["table-id.include-database"] == "true", mode: o["scan.startup.mode"],
		slot: o["slot.name"], failover: o["slot.failover"] == "true", publication: o["publication.name"], autocreate: o["publication.autocreate.mode"] == "filtered",
		onAttach: o["partition.attach.mode"], onDetach: o["partition.detach.mode"],
		text: textOptions{SpecialKeep: o["decimal.special-values"] == "keep", SpecialNull: o["decimal.special-values"] == "null", ArrayText: o["array.mode"] == "text"}}
	if !slotName.MatchString(c.slot) {
		return nil, &source.OptionError{Key: "slot.name", Msg: fmt.Sprintf("%q is no name for a replication slot", c.slot), Hint: "use up to 63 lower case letters, digits and underscores"}
	}
	if c.publication == "" {
		c.publication = c.slot
	}
	if len(c.publication)+len(insertsSuffix) > 63 {
		return nil, &source.OptionError{Key: "publication.name", Msg: "the name is too long", Hint: "use at most 55 bytes"}
	}
	c.chunkSize, _ = strconv.Atoi(o["scan.incremental.snapshot.chunk.size"])
	c.readers, _ = strconv.Atoi(o["scan.snapshot.parallelism"])
	c.heartbeat, _ = time.ParseDuration(o["heartbeat.interval"])
	if c.conn, err = parseConn(o); err != nil {
		return nil, err
	}
	c.database = c.conn.pg.Database
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Source{cfg: c, logger: logger}, nil
}

// fillDefaults checks keys and types and adds what is not set.
func fillDefaults(opts map[string]string) (map[string]string, error) {
	out := map[string]string{}
	specs := Specs()
	for key := range opts {
		if !slices.ContainsFunc(specs, func(s source.OptionSpec) bool { return s.Key == key }) {
			return nil, &source.OptionError{Key: key, Msg: "unknown option"}
		}
	}
	for _, s := range specs {
		v, set := opts[s.Key]
		switch {
		case set:
			if err := checkValue(s, v); err != nil {
				return nil, err
			}
			out[s.Key] = v
		case s.Required:
			return nil, &source.OptionError{Key: s.Key, Msg: "is required", Hint: s.Doc}
		case s.Default != "" && s.Key != "port" && s.Key != "sslmode": // libpq's own defaults and environment go first
			out[s.Key] = s.Default
		}
	}
	return out, nil
}

func checkValue(s source.OptionSpec, v string) error {
	bad := func(hint string) error {
		return &source.OptionError{Key: s.Key, Msg: fmt.Sprintf("%q is no valid %s", v, s.Type), Hint: hint}
	}
	switch s.Type {
	case "int":
		if n, err := strconv.Atoi(v); err != nil || n < 1 {
			return bad("use a whole number above 0")
		}
	case "bool":
		if v != "true" && v != "false" {
			return bad("use true or false")
		}
	case "duration":
		if d, err := time.ParseDuration(v); err != nil || d <= 0 {
			return bad("use a number with a unit, for instance 30s")
		}
	case "enum":
		if !slices.Contains(s.Values, v) {
			return &source.OptionError{Key: s.Key, Msg: fmt.Sprintf("%q is not one of %v", v, s.Values)}
		}
	}
	return nil
}

// Kind returns postgres.
func (s *Source) Kind() string { return "postgres" }

// FormatPosition prints a log position as PostgreSQL does, for instance 16/B374D848.
func (s *Source) FormatPosition(pos uint64) string { return pglogrepl.LSN(pos).String() }

// Close does nothing: every call has connections of its own.
func (s *Source) Close() error { return nil }

// Discover returns the captured tables, ordered by schema and name.
func (s *Source) Discover(ctx context.Context) ([]source.Table, error) {
	conn, err := s.cfg.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	infos, err := discover(ctx, conn, s.cfg)
	if err != nil {
		return nil, err
	}
	out := make([]source.Table, len(infos))
	for i, t := range infos {
		out[i] = source.Table{Schema: t.Schema, Rows: t.Rows, Bytes: t.Bytes, Chunks: t.chunks(s.cfg.chunkSize), Notes: t.notes()}
	}
	return out, nil
}
