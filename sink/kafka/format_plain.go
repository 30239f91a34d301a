package kafka

import (
	"time"

	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/canal"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// Keys of the options that the formats without an envelope have in common.
const (
	optTableID        = "key.table-id.enabled"
	optUnchanged      = "value.omit-unchanged.enabled"
	optMetadata       = "value.metadata.fields"
	optMetadataPrefix = "value.metadata.prefix"
	optDeletes        = "value.delete.mode"
	optZone           = "canal-json.time-zone"
)

// plainSpecs lists the options of json, csv and canal-json, those of json and csv by the names that Flink
// gives them.
func plainSpecs() []sink.OptionSpec {
	flag := func(key, def, doc string) sink.OptionSpec {
		return sink.OptionSpec{Key: key, Type: "bool", Default: def, Doc: doc}
	}
	text := func(key, def, doc string) sink.OptionSpec {
		return sink.OptionSpec{Key: key, Type: "string", Default: def, Doc: doc}
	}
	return []sink.OptionSpec{
		{Key: optTableID, Type: "bool", Doc: "Put the table's name in front of the key's columns, as Flink CDC does, so that keys of several tables in one topic differ; by default with canal-json and with key.format csv."},
		{Key: optDeletes, Type: "enum", Default: string(plain.DeleteTombstone), Values: []string{string(plain.DeleteTombstone), string(plain.DeleteRow), string(plain.DeleteSkip)},
			Doc: "What a delete becomes in json, csv and avro: a message without a value, which compaction needs, the old row (value.metadata.fields must have op), or nothing."},
		text(optMetadata, "", "Fields behind the columns in json, csv and avro: of op, database_name, schema_name, table_name, op_ts, ts_ms, position, transaction_id."),
		text(optMetadataPrefix, "__", "Stands before the names of these fields."),
		flag(optUnchanged, "false", "Leave a column out of json and canal-json where the server did not send its value, since it had not changed; else that is an error."),
		{Key: "json.timestamp-format.standard", Type: "enum", Default: string(plain.SQL), Values: []string{string(plain.SQL), string(plain.ISO)}, Doc: "How date and time are joined in json: by a space or a T."},
		flag("json.encode.decimal-as-plain-number", "false", "Write decimal numbers in json as 100.00 and not as 1E+2."),
		flag("json.encode.ignore-null-fields", "false", "Leave fields out of json that are NULL."),
		text("csv.field-delimiter", ",", "Stands between the fields of csv; \\t is a tabulator."),
		text("csv.quote-character", `"`, "Stands around texts in csv that need it."),
		flag("csv.disable-quote-character", "false", "Write no quotes in csv; a text that needs them is an error, unless csv.escape-character is set."),
		text("csv.escape-character", "", "Stands before characters in csv that would be misread."),
		text("csv.null-literal", "", "Stands for NULL in csv."),
		text("csv.array-element-delimiter", ";", "Stands between the elements of an array in csv."),
		flag("csv.write-bigdecimal-in-scientific-notation", "true", "Write decimal numbers in csv as 1E+2 and not as 100.00."),
		text(optZone, "UTC", "Zone in which canal-json has TIMESTAMP columns."),
		flag("canal-json.labels.enabled", "false", "Write the labels of ENUM and SET in canal-json, not their numbers."),
	}
}

// plain reads the options of json and csv, as values or keys, and of avro.
func (r *optionReader) plain(f format) plain.Options {
	o := plain.Options{
		Deletes: plain.Deletes(r.enum(optDeletes)), Prefix: r.text(optMetadataPrefix), OmitUnchanged: r.flag(optUnchanged),
		JSON: plain.JSONOptions{Timestamps: plain.Standard(r.enum("json.timestamp-format.standard")), PlainDecimals: r.flag("json.encode.decimal-as-plain-number"),
			IgnoreNulls: r.flag("json.encode.ignore-null-fields")},
		CSV: plain.CSVOptions{Delimiter: r.character("csv.field-delimiter"), Quote: r.character("csv.quote-character"), Escape: r.character("csv.escape-character"),
			NoQuote: r.flag("csv.disable-quote-character"), Null: r.text("csv.null-literal"), Elements: r.text("csv.array-element-delimiter"),
			PlainDecimals: !r.flag("csv.write-bigdecimal-in-scientific-notation")},
	}
	if f.rows() {
		o.Format = plain.Format(f.value)
	}
	for _, name := range list(r.text(optMetadata)) {
		o.Metadata = append(o.Metadata, plain.Metadata(name))
	}
	o.Key = plain.KeyOptions{Format: plain.Format(f.key), JSON: o.JSON, CSV: o.CSV, TableID: f.value == formatCanal || f.key == formatCSV}
	if r.text(optTableID) != "" {
		o.Key.TableID = r.flag(optTableID)
	}
	return o
}

// character reads an option that is one character of ASCII or nothing.
func (r *optionReader) character(key string) byte {
	v := r.text(key)
	switch {
	case v == `\t`:
		return '\t'
	case v == "" && specOf(key).Default != "":
		r.fail(key, "it is empty", "leave it out for "+specOf(key).Default)
		return 0
	case v == "":
		return 0
	case len(v) > 1 || v[0] >= 0x80:
		r.fail(key, "it is more than one character of ASCII", `for instance ; or \t`)
	}
	return v[0]
}

// canal reads the options of canal-json.
func (r *optionReader) canal(o plain.Options) canal.Options {
	zone, err := time.LoadLocation(r.text(optZone))
	if err != nil {
		r.fail(optZone, err.Error(), "for instance Europe/Berlin")
	}
	return canal.Options{Zone: zone, Labels: r.flag("canal-json.labels.enabled"), OmitUnchanged: o.OmitUnchanged, Key: o.Key}
}
