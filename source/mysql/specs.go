package mysql

import "github.com/freshet-cdc/freshet/source"

// Startup modes, with Flink CDC's names.
const (
	modeInitial   = "initial"
	modeEarliest  = "earliest-offset"
	modeLatest    = "latest-offset"
	modeSpecific  = "specific-offset"
	modeTimestamp = "timestamp"
	modeSnapshot  = "snapshot"
)

// Specs lists the options of the source. Names and meanings are Flink CDC's
// where it has them, Debezium's for ssl.*.
func Specs() []source.OptionSpec {
	var out []source.OptionSpec
	for _, part := range [][]source.OptionSpec{connectionSpecs(), captureSpecs(), startupSpecs(), snapshotSpecs(), valueSpecs(), flinkSpecs()} {
		out = append(out, part...)
	}
	return out
}

func str(key, def, doc string) source.OptionSpec {
	return source.OptionSpec{Key: key, Type: "string", Default: def, Doc: doc}
}

func flag(key, def, doc string) source.OptionSpec {
	return source.OptionSpec{Key: key, Type: "bool", Default: def, Doc: doc}
}

func number(key, def, doc string) source.OptionSpec {
	return source.OptionSpec{Key: key, Type: "int", Default: def, Doc: doc}
}

func enum(key, def, doc string, values ...string) source.OptionSpec {
	return source.OptionSpec{Key: key, Type: "enum", Default: def, Doc: doc, Values: values}
}

func connectionSpecs() []source.OptionSpec {
	return []source.OptionSpec{
		{Key: "hostname", Type: "string", Required: true, Doc: "Host name or address of the server, or the path of its Unix socket."},
		number("port", "3306", "Port of the server."),
		{Key: "username", Type: "string", Required: true, Doc: "Account to log in with; needs SELECT on the captured tables, REPLICATION SLAVE and REPLICATION CLIENT (MariaDB: BINLOG MONITOR)."},
		{Key: "password", Type: "string", Secret: true, Doc: "Password of the account."},
		enum("ssl.mode", "preferred", "Encryption: preferred uses it where the server offers it; verify_ca checks who signed the server's certificate, verify_identity its name as well.",
			"disabled", "preferred", "required", "verify_ca", "verify_identity"),
		str("ssl.ca", "", "File (PEM) with the certificates of the authorities that may have signed the server's; by default the system's."),
		str("ssl.cert", "", "File (PEM) with the client's certificate."),
		str("ssl.key", "", "File (PEM) with the client's key."),
		{Key: "connect.timeout", Type: "duration", Default: "30s", Doc: "How long a connection attempt may take."},
		number("connect.max-retries", "3", "Further attempts when the server can't be reached; 0 for none."),
		str("server-id", "", "Number of this pipeline among the server's replicas, or a range such as 5400-6400 whose first free one is taken. By default a large random number that no other replica has."),
	}
}

func captureSpecs() []source.OptionSpec {
	return []source.OptionSpec{
		{Key: "tables", Type: "string", Required: true, Doc: `Tables to capture, database.table: regular expressions in each part, several separated by commas, for instance shop.\.*`},
		str("tables.exclude", "", "Tables to leave out, in the same form."),
		flag("scan.newly-added-table.enabled", "false", "Tables that match since the last checkpoint are read when the pipeline starts again from it, while the others go on."),
		flag("scan.binlog.newly-added-table.enabled", "false", "Tables that are created while the pipeline runs are captured from the binlog on."),
		enum("scan.rewritten-tables", "stop", "What happens when a statement changed rows that the binlog does not show, for instance ALTER TABLE ... DROP PARTITION or a new default for old rows: stop, or snapshot to read the table again.",
			"stop", "snapshot"),
		{Key: "heartbeat.interval", Type: "duration", Default: "30s", Doc: "How often the server says that it is there while nothing happens; quiet tables move their position by it."},
	}
}

func startupSpecs() []source.OptionSpec {
	return []source.OptionSpec{
		enum("scan.startup.mode", modeInitial, "initial: snapshot and binlog; earliest-offset: all of the binlog that is left; latest-offset: only changes from now on; specific-offset, timestamp: changes from there on; snapshot: snapshot only, then end.",
			modeInitial, modeEarliest, modeLatest, modeSpecific, modeTimestamp, modeSnapshot),
		str("scan.startup.specific-offset.file", "", "Binlog file to begin with, for instance binlog.000003."),
		str("scan.startup.specific-offset.pos", "", "Place in that file; the start of an event. By default 4, the start of the file."),
		str("scan.startup.specific-offset.gtid-set", "", "GTIDs of what is left out, for instance 24da167-...:1-5 (MySQL) or 0-1-100 (MariaDB). Goes before file and position."),
		str("scan.startup.specific-offset.skip-events", "", "Events to leave out behind that place."),
		str("scan.startup.specific-offset.skip-rows", "", "Rows to leave out of the first event behind those."),
		str("scan.startup.timestamp-millis", "", "For timestamp: milliseconds since 1970; changes of transactions before its second are left out."),
		flag("scan.snapshot.accept-without-gtid", "false", "Without gtid_mode a snapshot of MySQL can't wait until everything that the binlog has shown is visible: a transaction that was in the binlog, but not yet visible, when the snapshot of its table began is lost. True accepts that."),
	}
}

func snapshotSpecs() []source.OptionSpec {
	return []source.OptionSpec{
		number("scan.incremental.snapshot.chunk.size", "100000", "Rows of a snapshot chunk."),
		number("scan.snapshot.parallelism", "2", "Connections that read snapshot chunks at the same time. With 1, where a sink prints the place of rows in the snapshot, tables are read one after the other, and the last row of all is told."),
		number("scan.snapshot.fetch.size", "1024", "Taken for Flink CDC's sake, without effect: rows are streamed, not fetched in portions."),
	}
}

func valueSpecs() []source.OptionSpec {
	return []source.OptionSpec{
		flag("treat-tinyint1-as-boolean.enabled", "true", "TINYINT(1), which BOOL is another name of, is a BOOLEAN."),
		flag("use.legacy.json.format", "true", "JSON without blanks behind commas and colons, in the snapshot and from the binlog; false: as the server prints it."),
		enum("zero-dates", "null", "What becomes of dates that name no day, such as 0000-00-00 or 2024-02-31: NULL, 1970-01-01, or an error.", "null", "epoch", "error"),
		enum("time.mode", "time", "What TIME columns are. time: a time of day; a negative value, or one from 24:00:00 on, is an error. time-or-null: such values become NULL. string: the server's text, any value.", "time", "time-or-null", "string"),
		enum("geometry.mode", "geojson", "What geometries are. geojson: text, with the SRID. bytes: as the server keeps them, the SRID in four bytes, the lowest first, then well-known binary.", "geojson", "bytes"),
		str("server-time-zone", "", "Taken for Flink CDC's sake, without effect: TIMESTAMP is read as the instant that it is, whatever the zones of server and client."),
	}
}

// flinkSpecs are options of Flink CDC that need not do anything here, or that
// can't be had; options.go says which way to go instead.
func flinkSpecs() []source.OptionSpec {
	const none = "Taken for Flink CDC's sake, without effect: "
	return []source.OptionSpec{
		flag("include-comments.enabled", "true", none+"comments of tables and columns are always carried."),
		number("connection.pool.size", "20", none+"every reader has its connection."),
		flag("scan.parse.online.schema.changes.enabled", "true", none+"tables that gh-ost and pt-online-schema-change swap are always followed."),
		flag("scan.incremental.snapshot.unbounded-chunk-first.enabled", "false", none+"chunks are streamed, so the last one needs no more memory than others."),
		flag("scan.incremental.close-idle-reader.enabled", "false", none+"idle readers are always closed."),
		str("scan.incremental.snapshot.chunk.key-column", "", none+"tables are cut along their whole key, and those without one are read in one go."),
		number("chunk-meta.group.size", "1000", none+"finished chunks need no message."),
		str("chunk-key.even-distribution.factor.upper-bound", "1000.0", none+"chunks are cut by what the table holds."),
		str("chunk-key.even-distribution.factor.lower-bound", "0.05", none+"chunks are cut by what the table holds."),
		flag("scan.incremental.snapshot.backfill.skip", "false", "Only false: skipping it would deliver rows twice."),
		flag("schema-change.enabled", "true", "Only true: use schema.change.behavior of the pipeline."),
		str("metadata.list", "", "Not supported."),
		str("jdbc.properties.*", "", "Not supported: there is no JDBC here."),
		str("debezium.*", "", "Not supported: there is no Debezium here."),
	}
}
