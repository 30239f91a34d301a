package kafka

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/canal"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// Keys of the options that choose formats.
const (
	optKeyFormat   = "key.format"
	optValueFormat = "value.format"
)

// The formats of values. Keys have json, csv and avro.
const (
	formatDebezium     = "debezium-json"
	formatDebeziumAvro = "debezium-avro"
	formatCanal        = "canal-json"
	formatJSON         = "json"
	formatCSV          = "csv"
	formatAvro         = "avro"
)

// format is how messages are written.
type format struct {
	value, key string
	debezium   debezium.Options // of debezium-json and debezium-avro
	canal      canal.Options    // of canal-json
	plain      plain.Options    // of json, csv and avro
	keys       []keyRule
	avro       avroOptions
	events     events
}

// keyRule is one rule of message.key.columns.
type keyRule struct {
	table   *regexp.Regexp
	columns []string
}

// formatSpecs lists the options of all formats.
func formatSpecs() []sink.OptionSpec {
	specs := []sink.OptionSpec{
		{Key: optValueFormat, Type: "enum", Default: formatDebezium, Values: []string{formatDebezium, formatDebeziumAvro, formatCanal, formatJSON, formatCSV, formatAvro},
			Doc: "Format of values: changes as Debezium or Canal write them, or rows alone, where a delete is a message without a value."},
		{Key: optKeyFormat, Type: "enum", Values: []string{formatJSON, formatCSV, formatAvro},
			Doc: "Format of keys; by default avro with debezium-avro and avro, else json."},
	}
	return slices.Concat(specs, debeziumSpecs(), eventSpecs(), plainSpecs(), avroSpecs())
}

// format reads the options of the chosen formats; those of others are errors.
func (r *optionReader) format() format {
	f := format{value: r.enum(optValueFormat), key: r.enum(optKeyFormat)}
	if f.key == "" {
		if f.key = formatJSON; f.value == formatAvro || f.value == formatDebeziumAvro {
			f.key = formatAvro
		}
	}
	if f.key == formatAvro && f.value != formatAvro && f.value != formatDebeziumAvro {
		r.fail(optKeyFormat, "keys in avro go with values in avro or debezium-avro", "set it to json, or choose another "+optValueFormat)
	}
	if f.key == formatCSV && f.value == formatDebeziumAvro {
		r.fail(optKeyFormat, "keys in csv don't go with debezium-avro", "there is avro, json")
	}
	r.unused(f)
	f.debezium, f.keys = r.debezium(), r.keyRules()
	f.events = r.events(&f.debezium)
	if f.key == formatCSV && f.events.outbox != nil {
		r.fail(optKeyFormat, "events of an outbox have the keys that their rows name", "set it to json")
	}
	f.plain = r.plain(f)
	f.canal = r.canal(f.plain)
	f.avro = r.avro(f)
	return f
}

// envelopes says that Debezium's encoder writes the messages.
func (f format) envelopes() bool { return f.value == formatDebezium || f.value == formatDebeziumAvro }

// rows says that messages are rows and nothing else.
func (f format) rows() bool {
	return f.value == formatJSON || f.value == formatCSV || f.value == formatAvro
}

// family is a group of options and the formats that have it.
type family struct {
	prefix, formats string
	used            func(f format) bool
}

// families lists the groups; the first that a key belongs to counts.
func families() []family {
	avro := func(f format) bool {
		return f.value == formatAvro || f.value == formatDebeziumAvro || f.key == formatAvro
	}
	text := func(f format) bool { return !f.envelopes() }
	return append(eventFamilies(), []family{
		{optKeyColumns, "all", func(format) bool { return true }},
		{"debezium.decimal.format", "value.format debezium-json", func(f format) bool { return f.value == formatDebezium }},
		{"debezium.", "value.format debezium-json and debezium-avro", format.envelopes},
		{"debezium-json.", "value.format debezium-json", func(f format) bool { return f.value == formatDebezium }},
		{"canal-json.", "value.format canal-json", func(f format) bool { return f.value == formatCanal }},
		{"json.", "value.format json and key.format json", func(f format) bool { return f.value == formatJSON || f.key == formatJSON && text(f) }},
		{"csv.", "value.format csv and key.format csv", func(f format) bool { return f.value == formatCSV || f.key == formatCSV }},
		{optTableID, "key.format json and csv, but for Debezium's own keys", func(f format) bool { return f.key == formatCSV || f.key == formatJSON && text(f) }},
		{optUnchanged, "value.format json and canal-json", func(f format) bool { return f.value == formatJSON || f.value == formatCanal }},
		{optMetadata, "value.format json, csv and avro", format.rows},
		{optMetadataPrefix, "value.format json, csv and avro", format.rows},
		{optDeletes, "value.format json, csv and avro", format.rows},
		{optRegistry, "avro and debezium-avro", avro},
		{"auto.register.schemas", "avro and debezium-avro", avro},
		{optLatest, "avro and debezium-avro", avro},
		{"value.subject.name.strategy", "avro and debezium-avro", avro},
		{"key.subject.name.strategy", "key.format avro", func(f format) bool { return f.key == formatAvro }},
	}...)
}

// unused reports options of formats that are not chosen: they would have no effect.
func (r *optionReader) unused(f format) {
	for key := range r.opts {
		for _, fam := range families() {
			if !strings.HasPrefix(key, fam.prefix) {
				continue
			}
			if !fam.used(f) {
				r.fail(key, fmt.Sprintf("it has no effect with %s %s and %s %s", optValueFormat, f.value, optKeyFormat, f.key), "leave it out; it is for "+fam.formats)
			}
			break
		}
	}
}

func (r *optionReader) keyRules() (out []keyRule) {
	for _, part := range strings.Split(r.text(optKeyColumns), ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		table, columns, ok := strings.Cut(part, ":")
		re, err := regexp.Compile(`(?i)\A(?:` + strings.TrimSpace(table) + `)\z`)
		if !ok || err != nil || len(list(columns)) == 0 {
			r.fail(optKeyColumns, fmt.Sprintf("%q is no rule", part), "for instance shop.orders:customer,number;shop.items:sku")
			return nil
		}
		out = append(out, keyRule{re, list(columns)})
	}
	return out
}

// keyColumns returns the columns that a rule gives to a table's keys, nil for its own.
func (f format) keyColumns(id schema.TableID) []string {
	for _, rule := range f.keys {
		if rule.table.MatchString(id.Schema + "." + id.Table) {
			return rule.columns
		}
	}
	return nil
}

// keyed reports whether a table's messages have a key.
func (f format) keyed(t *schema.Table) bool { return t.HasKey() || f.keyColumns(t.ID) != nil }

// truncates says that a truncate gives a message.
func (f format) truncates() bool {
	if !f.envelopes() || f.debezium.Flatten != nil {
		return false
	}
	return !slices.Contains(f.debezium.Skipped, debezium.Truncate)
}

// appendTableHeaders appends Flink CDC's headers of a table.
func appendTableHeaders(dst []kgo.RecordHeader, id schema.TableID) []kgo.RecordHeader {
	return append(dst, kgo.RecordHeader{Key: "namespace", Value: []byte(id.Namespace)},
		kgo.RecordHeader{Key: "schemaName", Value: []byte(id.Schema)}, kgo.RecordHeader{Key: "tableName", Value: []byte(id.Table)})
}
