package kafka

import (
	"errors"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		key  string // of the error, "" for none
		opts []string
	}{
		{"", nil},
		{"", []string{optTopic, "a; b", "properties.group.id", "g", optStart, "group-offsets", "properties.fetch.max.bytes", "1000000", "properties.security.protocol", "SSL"}},
		{"", []string{optFormat, "debezium-avro", optRegistry, "http://r:1,http://s:1", "schema-registry.username", "u", "schema-registry.password", "p"}},
		{"", []string{"properties.security.protocol", "SASL_PLAINTEXT", "properties.sasl.mechanism", "SCRAM-SHA-256", "properties.sasl.jaas.config", `x required username="u" password='p';`}},
		{"nothing", []string{"nothing", "x"}},
		{optTopic, []string{optTopic, ""}},
		{optPattern, []string{optPattern, "a.*"}},
		{optPattern, []string{optTopic, "", optPattern, "("}},
		{optStart, []string{optStart, "initial"}},
		{"scan.startup.timestamp-millis", []string{optStart, "timestamp"}},
		{"scan.startup.timestamp-millis", []string{"scan.startup.timestamp-millis", "5"}},
		{"scan.bounded.specific-offsets", []string{optStop, "specific-offsets"}},
		{"scan.bounded.specific-offsets", []string{optStop, "specific-offsets", "scan.bounded.specific-offsets", "partition:0"}},
		{"scan.startup.specific-offsets", []string{optTopic, "a;b", optStart, "specific-offsets", "scan.startup.specific-offsets", "partition:0,offset:1"}},
		{"properties.group.id", []string{optStart, "group-offsets"}},
		{"properties.acks", []string{"properties.acks", "all"}},
		{"properties.isolation.level", []string{"properties.isolation.level", "x"}},
		{"properties.auto.offset.reset", []string{"properties.auto.offset.reset", "x"}},
		{"properties.enable.auto.commit", []string{"properties.enable.auto.commit", "true"}},
		{"properties.sasl.mechanism", []string{"properties.sasl.mechanism", "PLAIN"}},
		{"properties.sasl.jaas.config", []string{"properties.security.protocol", "SASL_SSL", "properties.sasl.mechanism", "PLAIN"}},
		{"properties.security.protocol", []string{"properties.security.protocol", "x"}},
		{optRegistry, []string{optFormat, "avro"}},
		{optFormat, []string{optFormat, "csv"}},
		{optKeyFormat, []string{optFormat, "canal-json", optKeyFormat, "json"}},
		{optSchema, []string{optSchema, "x (a NOTHING)"}},
		{"scan.topic-partition-discovery.interval", []string{"scan.topic-partition-discovery.interval", "5"}},
	} {
		opts := map[string]string{optServers: "b:1", optTopic: "a"}
		for i := 0; i < len(c.opts); i += 2 {
			opts[c.opts[i]] = c.opts[i+1]
		}
		_, err := New(opts, func(schema.TableID) bool { return true }, nil)
		bad, _ := errors.AsType[*source.OptionError](err)
		if c.key == "" && err != nil || c.key != "" && (bad == nil || bad.Key != c.key) {
			t.Errorf("%q: %v, want one of %s", c.opts, err, c.key)
		}
	}
	if _, err := New(map[string]string{optTopic: "a"}, nil, nil); err == nil {
		t.Error("there are no brokers")
	}
	for _, s := range Specs() {
		if s.Doc == "" || s.Doc[len(s.Doc)-1] != '.' && s.Doc[len(s.Doc)-1] != ';' {
			t.Errorf("option %s: %q", s.Key, s.Doc)
		}
	}
}
