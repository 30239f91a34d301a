package kafka

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// describe says what the columns of a table are in the messages of its encoder.
func (f format) describe(t *schema.Table, e encoder) (out []sink.DescribedColumn) {
	var types []string // of the columns that are not left out, in order
	if r, ok := e.(registered); ok {
		if _, value, err := r.schemas(); err == nil && value.text != "" {
			types = avroTypes(value.text)
		}
	}
	left := e.LeftOut()
	for _, c := range t.Columns {
		dc := sink.DescribedColumn{Name: c.Name, SourceType: c.Source.Name, Type: c.Type.String()}
		switch {
		case slices.Contains(left, c.Name):
			dc.Note = "left out: Debezium has no form for this type (debezium.include.unknown.datatypes writes it as text)"
		case len(types) > 0:
			dc.SinkType, types = types[0], types[1:]
		case f.value == formatCSV:
			dc.SinkType = "csv"
		case f.value == formatCanal:
			dc.SinkType, dc.Note = "json string", f.canalNote(c)
		default:
			dc.SinkType = "json"
		}
		out = append(out, dc)
	}
	return out
}

// canalNote says what is lost of a column in canal-json.
func (f format) canalNote(c schema.Column) string {
	word, _, _ := strings.Cut(c.Source.Name, " ")
	if (word == "enum" || word == "set") && c.Source.OID == 0 && !f.canal.Labels {
		return "the number of its label, as Canal writes it (canal-json.labels.enabled writes the label)"
	}
	return ""
}

// notes are what is true of all tables in the format.
func (f format) notes() []string {
	switch {
	case f.value == formatCanal:
		return []string{"a truncate has no message"}
	case f.rows():
		deletes := map[string]string{"tombstone": "a delete is a message without a value", "row": "a delete is the old row, with the operation in its metadata", "skip": "a delete has no message"}
		return []string{deletes[string(f.plain.Deletes)], "a truncate has no message"}
	}
	return nil
}

// unchanged says what becomes of a value that the server does not send.
func (f format) unchanged() string {
	switch {
	case f.envelopes():
		return "values that an update does not change may be the placeholder of debezium.unavailable.value.placeholder"
	case f.plain.OmitUnchanged:
		return "columns whose value an update does not change may be left out of its message"
	}
	return "an update that leaves a large value as it is fails, unless the table has REPLICA IDENTITY FULL (" + optUnchanged + " leaves it out of json and canal-json)"
}

// avroTypes returns the types of a table's columns in a schema, in order: those of the row
// in it.
func avroTypes(text string) (out []string) {
	var root any
	if json.Unmarshal([]byte(text), &root) != nil {
		return nil
	}
	var find func(v any) bool
	find = func(v any) bool {
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, find)
		case map[string]any:
			fields, _ := v["fields"].([]any)
			if name, _ := v["name"].(string); name == "Value" && fields != nil {
				for _, f := range fields {
					if f, ok := f.(map[string]any); ok {
						out = append(out, avroType(f["type"]))
					}
				}
				return true
			}
			return slices.ContainsFunc(fields, func(f any) bool {
				m, _ := f.(map[string]any)
				return find(m["type"])
			})
		}
		return false
	}
	find(root)
	return out
}

// avroType prints a type in short: long timestamp-micros, or an array of them.
func avroType(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any: // a union with null
		for _, branch := range v {
			if branch != "null" {
				return avroType(branch)
			}
		}
	case map[string]any:
		name, _ := v["type"].(string)
		if items := v["items"]; items != nil {
			return name + " of " + avroType(items)
		}
		for _, key := range []string{"logicalType", "connect.name"} {
			if text, ok := v[key].(string); ok {
				return name + " " + text
			}
		}
		return name
	}
	return "null"
}
