package connect

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/freshet-cdc/freshet/schema"
)

// ErrSchema is wrapped by every schema of a message that can't be used.
var ErrSchema = errors.New("the schema of the message can't be used")

// kind is the bare type of a schema.
type kind uint8

const (
	kindInt8 kind = iota + 1
	kindInt16
	kindInt32
	kindInt64
	kindFloat32
	kindFloat64
	kindBool
	kindString
	kindBytes
	kindArray
	kindMap
	kindStruct
	kindEnum // Avro's
	kindNull // Avro's
)

// meaning is what the name of a schema adds to its type.
type meaning uint8

const (
	plain meaning = iota
	decimal
	variableDecimal
	date
	timeMillis
	timeMicros
	timeNanos
	timeText
	timestampMillis
	timestampMicros
	timestampNanos
	timestampText
	instantMillis // Avro's timestamp-millis is an instant
	instantMicros
	instantNanos
	zonedTimestamp
	zonedTime
	duration
	interval
	document
	uuid
)

// meanings by the names of Connect and Debezium.
var meanings = map[string]meaning{
	"org.apache.kafka.connect.data.Decimal": decimal, "org.apache.kafka.connect.data.Date": date,
	"org.apache.kafka.connect.data.Time": timeMillis, "org.apache.kafka.connect.data.Timestamp": timestampMillis,
	"io.debezium.data.VariableScaleDecimal": variableDecimal,
	"io.debezium.time.Date":                 date, "io.debezium.time.IsoDate": date,
	"io.debezium.time.Time": timeMillis, "io.debezium.time.MicroTime": timeMicros, "io.debezium.time.NanoTime": timeNanos, "io.debezium.time.IsoTime": timeText,
	"io.debezium.time.Timestamp": timestampMillis, "io.debezium.time.MicroTimestamp": timestampMicros, "io.debezium.time.NanoTimestamp": timestampNanos,
	"io.debezium.time.IsoTimestamp": timestampText, "io.debezium.time.ZonedTimestamp": zonedTimestamp, "io.debezium.time.ZonedTime": zonedTime,
	"io.debezium.time.MicroDuration": duration, "io.debezium.time.NanoDuration": plain, "io.debezium.time.Interval": interval,
	"io.debezium.data.Json": document, "io.debezium.data.Uuid": uuid,
}

// fits says which types a meaning goes with.
func (m meaning) fits(k kind) bool {
	switch m {
	case plain:
		return true
	case decimal:
		return k == kindBytes
	case variableDecimal:
		return k == kindStruct
	case date:
		return k == kindInt32 || k == kindString
	case timeMillis:
		return k == kindInt32
	case timeMicros, timeNanos, timestampMillis, timestampMicros, timestampNanos, instantMillis, instantMicros, instantNanos, duration:
		return k == kindInt64
	}
	return k == kindString
}

// Schema describes one value. It is immutable once parsed.
type Schema struct {
	Name     string
	Optional bool
	// Fields are those of a struct.
	Fields []Field

	kind      kind
	meaning   meaning
	precision int // of a decimal, 0 for none
	scale     int
	elem, key *Schema
	// Of Avro: null is the branch of a union that is null (-1 for no union), size that of a
	// fixed (0 for none), symbols those of an enum.
	null    int
	size    int
	symbols []string
}

// Field is one field of a struct.
type Field struct {
	Name   string
	Schema *Schema
}

// Field returns the schema of the field called name, or nil.
func (s *Schema) Field(name string) *Schema {
	if s == nil {
		return nil
	}
	for _, f := range s.Fields {
		if f.Name == name {
			return f.Schema
		}
	}
	return nil
}

// Struct reports whether s describes a struct.
func (s *Schema) Struct() bool { return s != nil && s.kind == kindStruct }

// finish sets the meaning by the name and the parameters.
func (s *Schema) finish(parameters map[string]string) error {
	if s.meaning == plain {
		s.meaning = meanings[s.Name]
	}
	if !s.meaning.fits(s.kind) {
		return fmt.Errorf("%w: %s is of another type than it should be", ErrSchema, s.Name)
	}
	if s.meaning != decimal {
		return nil
	}
	for name, to := range map[string]*int{"scale": &s.scale, "connect.decimal.precision": &s.precision} {
		if text, ok := parameters[name]; ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("%w: the %s of a decimal is %.20q", ErrSchema, name, text)
			}
			*to = n
		}
	}
	if s.precision < 0 || s.precision > 100_000 || s.scale < -100_000 || s.scale > 100_000 {
		return fmt.Errorf("%w: a decimal of %d digits, %d of them behind the point", ErrSchema, s.precision, s.scale)
	}
	return nil
}

// unnamedPrecision is the precision of a decimal whose schema tells none.
const unnamedPrecision = 38

// maxPrecision is the most digits that a DECIMAL has.
const maxPrecision = 76

// Type returns the type of a column for the values of s.
func (s *Schema) Type() (schema.Type, error) {
	switch s.meaning {
	case decimal:
		return s.decimalType(), nil
	case variableDecimal:
		return schema.Numeric(), nil
	case date:
		return schema.Date(), nil
	case timeMillis:
		return schema.Time(3), nil
	case timeMicros, timeNanos, timeText: // a TIME has six digits at most
		return schema.Time(6), nil
	case timestampMillis:
		return schema.Timestamp(3), nil
	case timestampMicros, timestampText:
		return schema.Timestamp(6), nil
	case timestampNanos:
		return schema.Timestamp(9), nil
	case instantMillis:
		return schema.TimestampLTZ(3), nil
	case zonedTimestamp, instantMicros:
		return schema.TimestampLTZ(6), nil
	case instantNanos:
		return schema.TimestampLTZ(9), nil
	case zonedTime:
		return schema.TimeTZ(6), nil
	case duration, interval:
		return schema.Interval(), nil
	case document:
		return schema.JSON(), nil
	case uuid:
		return schema.UUID(), nil
	}
	return s.bareType()
}

func (s *Schema) decimalType() schema.Type {
	precision := s.precision
	if precision == 0 {
		precision = unnamedPrecision
	}
	precision = max(precision, s.scale)
	if precision > maxPrecision || s.scale < 0 {
		return schema.Numeric()
	}
	return schema.Decimal(precision, s.scale)
}

var bareTypes = map[kind]schema.Type{
	kindInt8: schema.TinyInt(), kindInt16: schema.SmallInt(), kindInt32: schema.Int(), kindInt64: schema.BigInt(), kindFloat32: schema.Float(),
	kindFloat64: schema.Double(), kindBool: schema.Boolean(), kindString: schema.String(), kindBytes: schema.Bytes(), kindEnum: schema.String(), kindNull: schema.String(),
}

func (s *Schema) bareType() (schema.Type, error) {
	switch s.kind {
	case kindArray:
		elem, err := s.elem.Type()
		return schema.Array(elem), err
	case kindMap:
		key, err := s.key.Type()
		if err != nil {
			return schema.Type{}, err
		}
		elem, err := s.elem.Type()
		return schema.Map(key, elem), err
	case kindStruct:
		fields, err := s.Columns()
		return schema.Row(fields...), err
	}
	return bareTypes[s.kind], nil
}

// Columns returns the columns that the fields of a struct make.
func (s *Schema) Columns() ([]schema.Column, error) {
	out := make([]schema.Column, 0, len(s.Fields))
	for _, f := range s.Fields {
		t, err := f.Schema.Type()
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		out = append(out, schema.Column{Name: f.Name, Type: t, Nullable: f.Schema.Optional, Source: schema.SourceType{Length: -1, Scale: -1, Modifier: -1}})
	}
	return out, nil
}

// Integer reports whether s describes a whole number.
func (s *Schema) Integer() bool { return s.kind >= kindInt8 && s.kind <= kindInt64 }
