package kafka

import (
	"slices"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/avro"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// translatedEncoder writes Debezium's messages with keys or values in another format than
// JSON.
type translatedEncoder struct {
	debeziumEncoder
	// key and value are nil for those that stay JSON; what stands before them is their frame.
	key, value           *avro.Codec
	keyFrame, valueFrame []byte
	// csv are the keys after a change and before it, nil for none in CSV.
	csv, csvBefore *plain.Key
}

func (t *translatedEncoder) Append(out *output, b *schema.Batch, rows []int32, origin debezium.Origin, now int64) error {
	first := len(out.debezium.Messages)
	if err := t.debeziumEncoder.Append(out, b, rows, origin, now); err != nil {
		return err
	}
	if t.csv != nil {
		t.csv.Bind(b.Record)
		if b.Before != nil {
			t.csvBefore.Bind(b.Before)
		}
	}
	return t.translate(out, b, first)
}

func (t *translatedEncoder) AppendTruncate(out *output, position uint64, tx schema.Tx, origin debezium.Origin, now int64) error {
	first := len(out.debezium.Messages)
	t.e.AppendTruncate(&out.debezium, position, tx, origin, now)
	return t.translate(out, nil, first)
}

// translate makes the messages from the first on; b is nil for a truncate.
func (t *translatedEncoder) translate(out *output, b *schema.Batch, first int) (err error) {
	p := &out.plain
	p.Messages = slices.Grow(p.Messages, len(out.debezium.Messages)-first)
	for i := first; i < len(out.debezium.Messages); i++ {
		m := plain.Message{Key: plain.None, Value: plain.None, Row: out.debezium.Messages[i].Row}
		if key := out.debezium.Key(i); key != nil {
			start := len(p.Data)
			switch {
			case t.csv != nil:
				k := t.csv
				if out.debezium.Messages[i].Operation == debezium.Delete && b.Before != nil {
					k = t.csvBefore
				}
				p.Data, err = k.Append(p.Data, int(m.Row))
			case t.key != nil:
				p.Data, err = t.key.Append(append(p.Data, t.keyFrame...), key)
			default:
				p.Data = append(p.Data, key...)
			}
			if err != nil {
				return err
			}
			m.Key = plain.Span{Start: start, End: len(p.Data)}
		}
		if value := out.debezium.Value(i); value != nil {
			start := len(p.Data)
			if t.value != nil {
				p.Data, err = t.value.Append(append(p.Data, t.valueFrame...), value)
			} else {
				p.Data = append(p.Data, value...)
			}
			if err != nil {
				return err
			}
			m.Value = plain.Span{Start: start, End: len(p.Data)}
		}
		p.Messages = append(p.Messages, m)
	}
	return nil
}
