package kafka

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/freshet-cdc/freshet/sink/kafka/avro"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/registry"
)

// eventCodecs are the codecs of messages that belong to no table, by their schemas in Kafka
// Connect. It is safe for concurrent use.
type eventCodecs struct {
	mu     sync.Mutex
	codecs map[string]*avro.Codec
}

// eventOptions are the options for messages that belong to no table: for Avro they have their
// schemas, see [format.event].
func (f format) eventOptions() debezium.Options {
	o := f.debezium
	o.Schemas = o.Schemas || f.value == formatDebeziumAvro
	return o
}

// event returns the key or the value of a message that belongs to no table, as it goes to a
// topic, with memory of its own.
func (f format) event(ctx context.Context, topic string, message []byte, key bool) ([]byte, error) {
	if f.value != formatDebeziumAvro || message == nil {
		return bytes.Clone(message), nil
	}
	var parts struct{ Schema, Payload json.RawMessage }
	if err := json.Unmarshal(message, &parts); err != nil {
		return nil, fmt.Errorf("kafka: topic %s: %w", topic, err)
	}
	if key && f.key != formatAvro {
		return parts.Payload, nil
	}
	c := f.avro.events
	c.mu.Lock()
	defer c.mu.Unlock()
	codec, err := c.codecs[string(parts.Schema)], error(nil)
	if codec == nil {
		if codec, err = avro.Derive(parts.Schema); err != nil {
			return nil, &TopicError{Topic: topic, Msg: err.Error(), Hint: "set debezium.schema.name.adjustment.mode to avro"}
		}
		c.codecs[string(parts.Schema)] = codec
	}
	strategy := f.avro.value
	if key {
		strategy = f.avro.key
	}
	frame, err := f.avro.number(ctx, strategy.Subject(topic, codec.Name(), key), named{codec.Name(), codec.Schema()})
	if err != nil {
		return nil, fmt.Errorf("kafka: topic %s: %w", topic, err)
	}
	return codec.Append(frame, parts.Payload)
}

// number returns what stands before data of a schema.
func (o avroOptions) number(ctx context.Context, subject string, s named) ([]byte, error) {
	var id int
	var branch []byte
	var err error
	if o.latest {
		id, branch, err = o.registry.Latest(ctx, subject, registry.Schema{Text: s.text}, s.record)
	} else {
		id, err = o.registry.ID(ctx, subject, registry.Schema{Text: s.text})
	}
	if err != nil {
		return nil, err
	}
	return append(registry.Header(id), branch...), nil
}
