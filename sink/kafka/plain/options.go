package plain

import (
	"slices"
	"unicode/utf8"
)

// Format is what keys and values are written in.
type Format string

// The formats, by Flink's names.
const (
	JSON Format = "json"
	CSV  Format = "csv"
	// Avro is Avro's binary encoding; [Encoder.Schemas] has the schemas that belong to it.
	Avro Format = "avro"
)

// Standard is json.timestamp-format.standard: how date and time are joined in JSON.
type Standard string

// The standards.
const (
	SQL Standard = "SQL"      // by a space
	ISO Standard = "ISO-8601" // by a T
)

// Deletes says what a delete becomes.
type Deletes string

// What deletes become.
const (
	DeleteTombstone Deletes = "tombstone" // a key without a value
	DeleteRow       Deletes = "row"       // the row as it was, as far as it is known
	DeleteSkip      Deletes = "skip"      // nothing
)

// Metadata is a field beside the columns that says where a row comes from.
type Metadata string

// The metadata, by Flink CDC's names where it has one.
const (
	MetaOp          Metadata = "op"             // r, c, u or d
	MetaDatabase    Metadata = "database_name"  // the outermost part of the table's name
	MetaSchema      Metadata = "schema_name"    // the middle part of the table's name
	MetaTable       Metadata = "table_name"     // the last part of the table's name
	MetaOpTime      Metadata = "op_ts"          // when it was committed, in milliseconds since 1970
	MetaTime        Metadata = "ts_ms"          // when the message was made, in milliseconds since 1970
	MetaPosition    Metadata = "position"       // in the log; NULL for what a snapshot has read
	MetaTransaction Metadata = "transaction_id" // its number at the source; 0 for what a snapshot has read
)

var allMetadata = []string{string(MetaOp), string(MetaDatabase), string(MetaSchema), string(MetaTable), string(MetaOpTime),
	string(MetaTime), string(MetaPosition), string(MetaTransaction)}

// JSONOptions are those of the format json. The zero value of each is Flink's default.
type JSONOptions struct {
	// Timestamps is json.timestamp-format.standard.
	Timestamps Standard
	// PlainDecimals writes 100.00 and not 1E+2 (json.encode.decimal-as-plain-number).
	PlainDecimals bool
	// IgnoreNulls leaves fields out that are NULL (json.encode.ignore-null-fields).
	IgnoreNulls bool
}

// CSVOptions are those of the format csv. The zero value of each is Flink's default.
type CSVOptions struct {
	// Delimiter, Quote and Escape are ASCII characters (csv.field-delimiter,
	// csv.quote-character, csv.escape-character); 0 is a comma, a double quote, none.
	Delimiter, Quote, Escape byte
	// NoQuote writes texts without quotes (csv.disable-quote-character). An empty text
	// is then the same as a NULL, unless Null says otherwise.
	NoQuote bool
	// Null stands for a NULL (csv.null-literal).
	Null string
	// Elements is put between the elements of an array (csv.array-element-delimiter);
	// empty is a semicolon.
	Elements string
	// PlainDecimals writes 100.00 and not 1E+2
	// (csv.write-bigdecimal-in-scientific-notation=false).
	PlainDecimals bool
}

// KeyOptions say how keys are written.
type KeyOptions struct {
	// Format is key.format, by default json.
	Format Format
	// Name is the full name of Avro's record.
	Name string
	// TableID puts the table's name in front of the columns, as Flink CDC does.
	TableID bool
	// Columns are the columns of the key instead of the table's own, in order.
	Columns []string
	JSON    JSONOptions
	CSV     CSVOptions
}

// Options say which messages are written.
type Options struct {
	// Format is value.format, by default json.
	Format Format
	// Name is the full name of Avro's record.
	Name string
	JSON JSONOptions
	CSV  CSVOptions
	// Key is how keys are written; their JSON and CSV are the key's own.
	Key KeyOptions
	// Deletes says what a delete becomes, by default a tombstone.
	Deletes Deletes
	// Metadata are fields behind the columns, in order, each with Prefix before its
	// name, by default two underlines. CSV has no names.
	Metadata []Metadata
	Prefix   string
	// OmitUnchanged leaves a column out of the object where the server did not send its
	// value, instead of failing. CSV can't do so.
	OmitUnchanged bool
}

func (o Options) withDefaults() Options {
	o.Format, o.Key.Format = orElse(o.Format, JSON), orElse(o.Key.Format, JSON)
	o.Deletes, o.Prefix = orElse(o.Deletes, DeleteTombstone), orElse(o.Prefix, "__")
	o.JSON, o.CSV = o.JSON.withDefaults(), o.CSV.withDefaults()
	return o
}

func (o JSONOptions) withDefaults() JSONOptions {
	o.Timestamps = orElse(o.Timestamps, SQL)
	return o
}

func (o CSVOptions) withDefaults() CSVOptions {
	o.Delimiter, o.Quote, o.Elements = orElse(o.Delimiter, ','), orElse(o.Quote, '"'), orElse(o.Elements, ";")
	return o
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// check finds values that mean nothing.
func (o Options) check() error {
	if err := oneOf("value.format", string(o.Format), string(JSON), string(CSV), string(Avro)); err != nil {
		return err
	}
	if err := oneOf("value.delete.mode", string(o.Deletes), string(DeleteTombstone), string(DeleteRow), string(DeleteSkip)); err != nil {
		return err
	}
	for i, m := range o.Metadata {
		if err := oneOf("value.metadata.fields", string(m), allMetadata...); err != nil {
			return err
		}
		if slices.Contains(o.Metadata[:i], m) {
			return &OptionError{Key: "value.metadata.fields", Value: string(m), Hint: "it is there twice"}
		}
	}
	if o.Deletes == DeleteRow && !slices.Contains(o.Metadata, MetaOp) {
		return &OptionError{Key: "value.delete.mode", Value: string(o.Deletes), Hint: "without the metadata op nothing tells a deleted row from others"}
	}
	if o.OmitUnchanged && o.Format != JSON {
		return &OptionError{Key: "value.format", Value: string(o.Format), Hint: "it can't leave a column out; let the server send it, or choose json"}
	}
	return checkFormat(o.Format, o.JSON, o.CSV)
}

// checkFormat checks the options of a format, those of no other.
func checkFormat(f Format, j JSONOptions, c CSVOptions) error {
	switch f {
	case Avro:
		return nil
	case JSON:
		return oneOf("json.timestamp-format.standard", string(j.Timestamps), string(SQL), string(ISO))
	}
	return c.check()
}

func (o CSVOptions) check() error {
	used := []byte{'\n', '\r'}
	for _, c := range []struct {
		key string
		v   byte
	}{{"csv.field-delimiter", o.Delimiter}, {"csv.quote-character", o.Quote}, {"csv.escape-character", o.Escape}} {
		if c.v == 0 || o.NoQuote && c.v == o.Quote && c.key == "csv.quote-character" {
			continue
		}
		if c.v >= utf8.RuneSelf {
			return &OptionError{Key: c.key, Value: string(rune(c.v)), Hint: "it must be an ASCII character"}
		}
		if slices.Contains(used, c.v) {
			return &OptionError{Key: c.key, Value: string(rune(c.v)), Hint: "it ends a line, or is the delimiter or the quote already"}
		}
		used = append(used, c.v)
	}
	for _, b := range []byte(o.Null) {
		if b == o.Delimiter || b == '\n' || b == '\r' || !o.NoQuote && b == o.Quote {
			return &OptionError{Key: "csv.null-literal", Value: o.Null, Hint: "it must hold no delimiter, quote or end of line"}
		}
	}
	return nil
}
