package avro

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrSchema is a schema of Kafka Connect that has no form in Avro.
var ErrSchema = errors.New("schema has no form in Avro")

// connect is a schema of Kafka Connect, as JsonConverter prints it.
type connect struct {
	Type       string     `json:"type"`
	Fields     []connect  `json:"fields"`
	Items      *connect   `json:"items"`
	Keys       *connect   `json:"keys"`
	Values     *connect   `json:"values"`
	Optional   bool       `json:"optional"`
	Name       string     `json:"name"`
	Version    int        `json:"version"`
	Doc        string     `json:"doc"`
	Parameters parameters `json:"parameters"`
	// Default is its JSON, nil for none.
	Default json.RawMessage `json:"default"`
	// Field is the schema's name in the struct around it.
	Field string `json:"field"`
}

// parameters are the parameters of a schema in their order.
type parameters [][2]string

// UnmarshalJSON reads an object of texts.
func (p *parameters) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil { // {
		return err
	}
	for d.More() {
		var pair [2]string
		for i := range pair {
			t, err := d.Token()
			if err != nil {
				return err
			}
			text, ok := t.(string)
			if !ok {
				return fmt.Errorf("%w: a parameter is no text", ErrSchema)
			}
			pair[i] = text
		}
		*p = append(*p, pair)
	}
	return nil
}

func (p parameters) get(key string) string {
	for _, pair := range p {
		if pair[0] == key {
			return pair[1]
		}
	}
	return ""
}

// Names of Kafka Connect's own logical types.
const (
	connectDecimal   = "org.apache.kafka.connect.data.Decimal"
	connectDate      = "org.apache.kafka.connect.data.Date"
	connectTime      = "org.apache.kafka.connect.data.Time"
	connectTimestamp = "org.apache.kafka.connect.data.Timestamp"
)

// defaultPrecision is the precision of a Decimal that does not tell its own.
const defaultPrecision = "64"
