package plain

import "github.com/freshet-cdc/freshet/schema"

// Output is where messages are appended. Its bytes move while it grows: what Key and
// Value return is valid until the next Append.
type Output struct {
	Data     []byte
	Messages []Message
}

// Message is a message in an [Output].
type Message struct {
	// Key and Value lie in the output's data; see [None].
	Key, Value Span
	// Row is the number of its row in the batch, -1 for a statement.
	Row int32
	// Op is what has happened to the row, 0 for a statement.
	Op schema.Op
}

// Span is where in the data of an output something lies.
type Span struct{ Start, End int }

// None is the span of what is not there: the key of a table without one, the value of
// a tombstone.
var None = Span{-1, -1}

// Reset forgets the messages and keeps the memory.
func (o *Output) Reset() { o.Data, o.Messages = o.Data[:0], o.Messages[:0] }

// Key returns the key of message i, nil for none.
func (o *Output) Key(i int) []byte { return o.cut(o.Messages[i].Key) }

// Value returns the value of message i, nil for a tombstone.
func (o *Output) Value(i int) []byte { return o.cut(o.Messages[i].Value) }

func (o *Output) cut(s Span) []byte {
	if s == None {
		return nil
	}
	return o.Data[s.Start:s.End:s.End]
}
