package readers

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MessageOptions are the sink options by which messages have values that ReadTopic's
// users can compare with the database.
var MessageOptions = map[string]string{
	"value.format":                   "debezium-json",
	"debezium.decimal.handling.mode": "string",
	"debezium.binary.handling.mode":  "hex",
	"debezium.time.precision.mode":   "microseconds",
	"debezium.tombstones.on.delete":  "true",
}

// unavailable is what Debezium writes for a value that PostgreSQL did not send, because
// an update left it alone.
const unavailable = "__debezium_unavailable_value"

// wire says how a column's value stands in a message, where that is not the text of the
// comparison.
type wire uint8

const (
	asText        wire = iota // a JSON string, number or boolean
	asBoolean                 // a number, of which all but 0 are true
	asUnsigned                // a signed number that means an unsigned one
	asDays                    // since 1970
	asMicros                  // since 1970
	asMicrosOfDay             // since midnight
	asInstant                 // ISO 8601, in UTC
	asBits                    // bytes in base64
)

// envelope is the value of a message in Debezium's format.
type envelope struct {
	Op     string                     `json:"op"`
	After  map[string]json.RawMessage `json:"after"`
	Source origin                     `json:"source"`
}

// origin is the part of the source block that says where in the log a change lies.
type origin struct {
	TsUs int64  `json:"ts_us"` // of the commit
	LSN  int64  `json:"lsn"`
	File string `json:"file"`
	Pos  int64  `json:"pos"`
	Row  int64  `json:"row"`
}

// place says where in the log a message's change lies.
func (e *envelope) place() string {
	return fmt.Sprintf("%s/%d/%d/%d", e.Source.File, e.Source.Pos, e.Source.Row, e.Source.LSN)
}

// row returns the values of the state behind a change in the form of the comparison.
func (e *envelope) row(columns []column) ([]Text, error) {
	row := make([]Text, len(columns))
	for i, c := range columns {
		raw, ok := e.After[c.name]
		if !ok {
			return nil, fmt.Errorf("a message has no field %s", c.name)
		}
		v, err := c.fromMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("field %s is %.60s: %w", c.name, raw, err)
		}
		row[i] = v
	}
	return row, nil
}

// fromMessage makes a JSON value what the database prints for the column.
func (c column) fromMessage(raw json.RawMessage) (Text, error) {
	if string(raw) == "null" {
		return nil, nil
	}
	s := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
	}
	if s == unavailable {
		return &s, nil
	}
	out, err := c.wire.text(s)
	return &out, err
}

// The forms in which the database prints dates and times.
const (
	dateForm = "2006-01-02"
	timeForm = "2006-01-02T15:04:05.000000"
)

func (w wire) text(s string) (string, error) {
	switch w {
	case asBoolean:
		return strconv.FormatBool(s != "0"), nil
	case asInstant:
		t, err := time.Parse(time.RFC3339Nano, s)
		return t.UTC().Format(timeForm), err
	case asBits:
		b, err := base64.StdEncoding.DecodeString(s)
		return hex.EncodeToString(b), err
	case asUnsigned, asDays, asMicros, asMicrosOfDay:
		n, err := strconv.ParseInt(s, 10, 64)
		return w.number(n), err
	}
	return s, nil
}

func (w wire) number(n int64) string {
	switch w {
	case asUnsigned:
		return strconv.FormatUint(uint64(n), 10)
	case asDays:
		return time.Unix(n*86400, 0).UTC().Format(dateForm)
	case asMicros:
		return time.UnixMicro(n).UTC().Format(timeForm)
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%02d:%02d:%02d.%06d", sign, n/3_600_000_000, n/60_000_000%60, n/1_000_000%60, n%1_000_000)
}

// messageKey returns the texts of a key's columns in the form of the comparison; columns
// are those of the table.
func messageKey(columns []column, key string) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(key), &fields); err != nil {
		return "", fmt.Errorf("the key %.60s: %w", key, err)
	}
	var out strings.Builder
	for _, c := range columns {
		if c.key == 0 {
			continue
		}
		v, err := c.fromMessage(fields[c.name])
		if err != nil || v == nil {
			return "", fmt.Errorf("the key %.60s has no %s: %w", key, c.name, err)
		}
		out.WriteString(*v)
		out.WriteByte(0)
	}
	return out.String(), nil
}
