package debezium

import (
	"slices"
	"time"

	"github.com/freshet-cdc/freshet/schema"
)

// Connector is the Debezium connector whose messages are written.
type Connector string

// The connectors, by the name that they have in a source block.
const (
	MySQL      Connector = "mysql"
	MariaDB    Connector = "mariadb"
	PostgreSQL Connector = "postgresql"
)

// Version is the version of Debezium that the messages follow, as source.version has it.
const Version = "3.6.1.Final"

// DecimalMode is decimal.handling.mode: what decimal numbers are.
type DecimalMode string

// The decimal modes.
const (
	DecimalPrecise DecimalMode = "precise" // the unscaled number as bytes
	DecimalString  DecimalMode = "string"
	DecimalDouble  DecimalMode = "double"
)

// DecimalFormat is the JsonConverter's decimal.format: how [DecimalPrecise] is printed.
type DecimalFormat string

// The decimal formats.
const (
	FormatBase64  DecimalFormat = "BASE64"
	FormatNumeric DecimalFormat = "NUMERIC"
)

// TimeMode is time.precision.mode: what dates, times and timestamps without a zone are.
type TimeMode string

// The time modes.
const (
	TimeAdaptive             TimeMode = "adaptive" // by the column's precision
	TimeAdaptiveMicroseconds TimeMode = "adaptive_time_microseconds"
	TimeConnect              TimeMode = "connect" // Kafka Connect's own types, milliseconds
	TimeISOString            TimeMode = "isostring"
	TimeMicroseconds         TimeMode = "microseconds"
	TimeNanoseconds          TimeMode = "nanoseconds"
)

// BinaryMode is binary.handling.mode: what bytes are.
type BinaryMode string

// The binary modes.
const (
	BinaryBytes         BinaryMode = "bytes"
	BinaryBase64        BinaryMode = "base64"
	BinaryBase64URLSafe BinaryMode = "base64-url-safe"
	BinaryHex           BinaryMode = "hex"
)

// IntervalMode is interval.handling.mode.
type IntervalMode string

// The interval modes.
const (
	IntervalNumeric IntervalMode = "numeric" // microseconds, a month as 30.4375 days
	IntervalString  IntervalMode = "string"
)

// UnsignedMode is bigint.unsigned.handling.mode.
type UnsignedMode string

// The modes of BIGINT UNSIGNED.
const (
	UnsignedLong    UnsignedMode = "long" // from 2^63 on negative
	UnsignedPrecise UnsignedMode = "precise"
)

// HstoreMode is hstore.handling.mode.
type HstoreMode string

// The hstore modes.
const (
	HstoreJSON HstoreMode = "json" // a text
	HstoreMap  HstoreMode = "map"
)

// defaultPlaceholder is Debezium's unavailable.value.placeholder.
const defaultPlaceholder = "__debezium_unavailable_value"

// Options say which messages are written. The zero value of each is Debezium's default.
type Options struct {
	Connector Connector
	// Prefix is topic.prefix, the name in the source block.
	Prefix string
	// Database is the database that the source block names where the table's
	// identifier does not.
	Database string
	// Version is source.version, by default [Version].
	Version string
	// Schemas writes keys and values with their schemas (schemas.enable).
	Schemas bool

	Decimal       DecimalMode
	DecimalFormat DecimalFormat
	Time          TimeMode
	Binary        BinaryMode
	Interval      IntervalMode
	Unsigned      UnsignedMode
	Hstore        HstoreMode

	// KeepNulls writes a NULL as null where the column has a default, the opposite
	// of the JsonConverter's replace.null.with.default.
	KeepNulls bool
	// NoTombstones leaves the tombstone behind a delete out (tombstones.on.delete=false).
	NoTombstones bool
	// Skipped are the operations that give no message (skipped.operations); nil means
	// truncates alone.
	Skipped []Operation
	// Placeholder stands for a value that the server did not send since it had not changed.
	Placeholder string
	// Comments carries the columns' comments into the schema (include.schema.comments).
	Comments bool
	// UnknownTypes writes columns of types that Debezium does not know, as text
	// (include.unknown.datatypes); by default they are left out, see [Encoder.LeftOut].
	UnknownTypes bool
	// Transactions writes the transaction block (provide.transaction.metadata).
	Transactions bool
	// Query writes the statement into the source block, where the server logs it
	// (include.query; MySQL, MariaDB).
	Query bool
	// Context adds the headers that say where a message comes from
	// (extended.headers.enabled); nil for none.
	Context *Context
	// Flatten writes rows without an envelope (ExtractNewRecordState); nil for envelopes.
	Flatten *Flatten
	// SchemaNames and FieldNames adjust names (schema.name.adjustment.mode and
	// field.name.adjustment.mode); empty leaves them.
	SchemaNames, FieldNames Adjustment
	// SourceType reports whether a column's type at the server goes into the schema
	// (column.propagate.source.type, datatype.propagate.source.type); nil for none.
	SourceType func(schema.Column) bool
	// KeyColumns are the columns of the key instead of the table's own
	// (message.key.columns), in order.
	KeyColumns []string
	// KeyField is added to keys, nil for none; see [Router].
	KeyField *KeyField
	// Outbox makes events of the table's rows, nil for a table like others.
	Outbox *Outbox
	// Timezone is where local times are, and what times with a zone are printed in, as
	// Debezium's TimezoneConverter has them; nil for UTC. ZonedColumn, if not nil, says
	// for which columns.
	Timezone    *time.Location
	ZonedColumn func(schema.Column) bool
	// UniqueKeys takes schema.Table.UniqueKey for the key of a table that has none. All
	// changes of such a table must come from one encoder then, for nobody splits them by it.
	UniqueKeys bool

	// changed says that the present row is a change, not a read.
	changed bool
}

// Operation is what a message says has happened.
type Operation byte

// The operations.
const (
	Create   Operation = 'c'
	Update   Operation = 'u'
	Delete   Operation = 'd'
	Read     Operation = 'r'
	Truncate Operation = 't'
)

func (o Options) withDefaults() Options {
	set := func(p *string, def string) {
		if *p == "" {
			*p = def
		}
	}
	set(&o.Version, Version)
	set((*string)(&o.Decimal), string(DecimalPrecise))
	set((*string)(&o.DecimalFormat), string(FormatBase64))
	set((*string)(&o.Binary), string(BinaryBytes))
	set((*string)(&o.Interval), string(IntervalNumeric))
	set((*string)(&o.Unsigned), string(UnsignedLong))
	set((*string)(&o.Hstore), string(HstoreJSON))
	set(&o.Placeholder, defaultPlaceholder)
	if o.Time == "" {
		if o.Time = TimeAdaptive; o.Connector != PostgreSQL {
			o.Time = TimeAdaptiveMicroseconds
		}
	}
	return o
}

// check finds values that mean nothing.
func (o Options) check() error {
	for _, c := range []struct {
		key, value string
		allowed    []string
	}{
		{"connector", string(o.Connector), []string{string(MySQL), string(MariaDB), string(PostgreSQL)}},
		{"decimal.handling.mode", string(o.Decimal), []string{string(DecimalPrecise), string(DecimalString), string(DecimalDouble)}},
		{"decimal.format", string(o.DecimalFormat), []string{string(FormatBase64), string(FormatNumeric)}},
		{"time.precision.mode", string(o.Time), []string{string(TimeAdaptive), string(TimeAdaptiveMicroseconds), string(TimeConnect),
			string(TimeISOString), string(TimeMicroseconds), string(TimeNanoseconds)}},
		{"binary.handling.mode", string(o.Binary), []string{string(BinaryBytes), string(BinaryBase64), string(BinaryBase64URLSafe), string(BinaryHex)}},
		{"interval.handling.mode", string(o.Interval), []string{string(IntervalNumeric), string(IntervalString)}},
		{"bigint.unsigned.handling.mode", string(o.Unsigned), []string{string(UnsignedLong), string(UnsignedPrecise)}},
		{"hstore.handling.mode", string(o.Hstore), []string{string(HstoreJSON), string(HstoreMap)}},
		{"schema.name.adjustment.mode", string(o.SchemaNames), []string{string(AdjustNone), "", string(AdjustAvro)}},
		{"field.name.adjustment.mode", string(o.FieldNames), []string{string(AdjustNone), "", string(AdjustAvro)}},
	} {
		if !slices.Contains(c.allowed, c.value) {
			return &OptionError{Key: c.key, Value: c.value, Allowed: c.allowed}
		}
	}
	return nil
}

func (o Options) skips(op Operation) bool {
	if o.Skipped == nil {
		return op == Truncate
	}
	return slices.Contains(o.Skipped, op)
}

// database is the db of the source block.
func (o Options) database(id schema.TableID) string {
	switch {
	case o.Connector != PostgreSQL:
		return id.Schema
	case id.Namespace != "":
		return id.Namespace
	}
	return o.Database
}
