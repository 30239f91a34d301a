package kafka

import (
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
)

// debeziumSpecs lists the options of the Debezium formats, by the names that Debezium
// gives them.
func debeziumSpecs() []sink.OptionSpec {
	enum := func(key, def, doc string, values ...string) sink.OptionSpec {
		return sink.OptionSpec{Key: "debezium." + key, Type: "enum", Default: def, Values: values, Doc: doc}
	}
	flag := func(key, def, doc string) sink.OptionSpec {
		return sink.OptionSpec{Key: "debezium." + key, Type: "bool", Default: def, Doc: doc}
	}
	text := func(key, def, doc string) sink.OptionSpec {
		return sink.OptionSpec{Key: "debezium." + key, Type: "string", Default: def, Doc: doc}
	}
	return []sink.OptionSpec{
		{Key: "debezium-json.include-schema.enabled", Type: "bool", Default: "false", Doc: "Write keys and values with their schemas."},
		enum("connector", "", "Whose messages are written; by default those of the source's connector.", "mysql", "mariadb", "postgresql"),
		text("database", "", "The database in the source block, where tables don't name it; by default the source's."),
		enum("decimal.handling.mode", "precise", "What decimals are.", "precise", "string", "double"),
		enum("decimal.format", "BASE64", "How precise decimals are printed.", "BASE64", "NUMERIC"),
		enum("time.precision.mode", "", "What dates and times are; by default as the connector's.", "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"),
		enum("binary.handling.mode", "bytes", "What bytes are.", "bytes", "base64", "base64-url-safe", "hex"),
		enum("interval.handling.mode", "numeric", "What intervals are.", "numeric", "string"),
		enum("bigint.unsigned.handling.mode", "long", "What BIGINT UNSIGNED is.", "long", "precise"),
		enum("hstore.handling.mode", "json", "What hstore is.", "json", "map"),
		enum("schema.name.adjustment.mode", "none", "Names of schemas that fit Avro.", "none", "avro"),
		enum("field.name.adjustment.mode", "none", "Names of fields that fit Avro.", "none", "avro"),
		text("message.key.columns", "", "Keys other than the tables' own: expression of database.table:column,column;..."),
		text("skipped.operations", "t", "Operations that give no message, of c, u, d, t; or none."),
		text("unavailable.value.placeholder", "", "Stands for a value that the server did not send."),
		flag("tombstones.on.delete", "true", "Write a message without a value behind each delete."),
		flag("replace.null.with.default", "true", "Write a column's default for NULL."),
		flag("include.schema.comments", "false", "Write the columns' comments into the schema."),
		flag("include.unknown.datatypes", "false", "Write columns of types that Debezium does not know, as text."),
		flag("unwrap", "false", "Write rows without an envelope, as ExtractNewRecordState does."),
		enum("unwrap.delete.tombstone.handling.mode", "tombstone", "What becomes of a delete then.", "drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"),
		text("unwrap.add.fields", "", "What of the envelope is added to rows."),
		text("unwrap.add.headers", "", "What of the envelope is added to headers."),
	}
}

// debezium reads the options of the Debezium formats.
func (r *optionReader) debezium() debezium.Options {
	d := func(key string) string { return r.enum("debezium." + key) }
	flag := func(key string) bool { return r.flag("debezium." + key) }
	text := func(key string) string { return r.text("debezium." + key) }
	o := debezium.Options{
		Connector: debezium.Connector(d("connector")), Prefix: r.text(optTopicPrefix), Database: text("database"),
		Schemas: r.flag("debezium-json.include-schema.enabled"),
		Decimal: debezium.DecimalMode(d("decimal.handling.mode")), DecimalFormat: debezium.DecimalFormat(d("decimal.format")),
		Time: debezium.TimeMode(d("time.precision.mode")), Binary: debezium.BinaryMode(d("binary.handling.mode")),
		Interval: debezium.IntervalMode(d("interval.handling.mode")), Unsigned: debezium.UnsignedMode(d("bigint.unsigned.handling.mode")),
		Hstore: debezium.HstoreMode(d("hstore.handling.mode")), SchemaNames: debezium.Adjustment(d("schema.name.adjustment.mode")),
		FieldNames: debezium.Adjustment(d("field.name.adjustment.mode")), Placeholder: text("unavailable.value.placeholder"),
		NoTombstones: !flag("tombstones.on.delete"), KeepNulls: !flag("replace.null.with.default"),
		Comments: flag("include.schema.comments"), UnknownTypes: flag("include.unknown.datatypes"),
		Skipped: r.operations("debezium.skipped.operations"),
	}
	if flag("unwrap") {
		o.Flatten = &debezium.Flatten{Deletes: debezium.DeleteMode(d("unwrap.delete.tombstone.handling.mode")),
			Fields: list(text("unwrap.add.fields")), Headers: list(text("unwrap.add.headers"))}
	}
	return o
}

func (r *optionReader) operations(key string) []debezium.Operation {
	out := []debezium.Operation{} // not nil, which would be the default
	for _, op := range list(r.text(key)) {
		if op == "none" {
			return []debezium.Operation{}
		}
		if !strings.Contains("cudt", op) || len(op) != 1 {
			r.fail(key, fmt.Sprintf("%q is no operation", op), "there is c, u, d, t, and none")
			return nil
		}
		out = append(out, debezium.Operation(op[0]))
	}
	return out
}
