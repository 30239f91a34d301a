package kafka

import (
	"bytes"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// encoder writes the messages of one version of a table, in whichever format. It is used
// by one goroutine at a time. What a format can't say of an origin is left out.
type encoder interface {
	// Append appends the messages of the rows of b, in order; see [debezium.Encoder.Append].
	Append(out *output, b *schema.Batch, rows []int32, origin debezium.Origin, now int64) error
	// AppendTruncate appends the message of a truncate, where the format has one.
	AppendTruncate(out *output, position uint64, tx schema.Tx, origin debezium.Origin, now int64) error
	// LeftOut names the columns that messages don't have.
	LeftOut() []string
}

// output is where the encoders of a writer append messages. Keys and values lie in plain
// where that has any, else in debezium, which alone has headers.
type output struct {
	debezium debezium.Output
	plain    plain.Output
}

// Reset forgets the messages and keeps the memory.
func (o *output) Reset() {
	o.debezium.Reset()
	o.plain.Reset()
}

// Len is the number of messages.
func (o *output) Len() int { return max(len(o.debezium.Messages), len(o.plain.Messages)) }

// size is the number of bytes that the messages take.
func (o *output) size() int {
	if len(o.plain.Messages) > 0 {
		return len(o.plain.Data)
	}
	return len(o.debezium.Data)
}

// Key returns the key of message i, nil for none.
func (o *output) Key(i int) []byte {
	if len(o.plain.Messages) > 0 {
		return o.plain.Key(i)
	}
	return o.debezium.Key(i)
}

// Value returns the value of message i, nil for a tombstone.
func (o *output) Value(i int) []byte {
	if len(o.plain.Messages) > 0 {
		return o.plain.Value(i)
	}
	return o.debezium.Value(i)
}

// Headers appends the headers of message i to dst.
func (o *output) Headers(dst []debezium.Header, i int) []debezium.Header {
	if len(o.debezium.Messages) == 0 {
		return dst
	}
	start := len(dst)
	dst = o.debezium.Headers(dst, i)
	if len(o.plain.Messages) > 0 { // detach has left their memory as it is
		for n := range dst[start:] {
			dst[start+n].Value = bytes.Clone(dst[start+n].Value)
		}
	}
	return dst
}

// detach gives the messages memory of their own, which outlives the next Reset. restore
// gives the output its own back, unless that has grown beyond keep bytes.
func (o *output) detach(keep int) (restore func()) {
	used := &o.debezium.Data
	if len(o.plain.Messages) > 0 {
		used = &o.plain.Data
	}
	scratch := *used
	*used = bytes.Clone(scratch)
	return func() {
		if *used = scratch; cap(o.debezium.Data)+cap(o.plain.Data) > keep {
			*o = output{}
		}
	}
}
