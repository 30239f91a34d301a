package debezium

// Output is where messages are appended. Its bytes move while it grows: what Key,
// Value and Headers return is valid until the next Append.
type Output struct {
	Data     []byte
	Messages []Message
	headers  []headerSpan
}

// Message is a message in an [Output].
type Message struct {
	key, value span
	headers    span // of the output's headers
	// Row is the number of its row in the batch, -1 for a truncate.
	Row int32
	// Operation is what has happened; a tombstone has that of its delete.
	Operation Operation
	topic     string
}

// Header is a header of a message; its value is JSON without a schema.
type Header struct {
	Key   string
	Value []byte
}

// headerSpan is a header whose value lies in an output, or in fixed.
type headerSpan struct {
	key   string
	value span
	fixed []byte
}

type span struct{ start, end int }

var none = span{-1, -1}

// Headers that tell the two halves of a change of key from a delete and an insert.
const (
	HeaderNewKey = "__debezium.newkey" // of the delete: the key that comes
	HeaderOldKey = "__debezium.oldkey" // of the create: the key that goes
)

// Reset forgets the messages and keeps the memory.
func (o *Output) Reset() {
	o.Data, o.Messages, o.headers = o.Data[:0], o.Messages[:0], o.headers[:0]
}

// Key returns the key of message i, nil for none.
func (o *Output) Key(i int) []byte { return o.cut(o.Messages[i].key) }

// Value returns the value of message i, nil for a tombstone.
func (o *Output) Value(i int) []byte { return o.cut(o.Messages[i].value) }

// Topic returns the topic that message i itself asks for, empty for that of its table.
func (o *Output) Topic(i int) string { return o.Messages[i].topic }

// Headers appends the headers of message i to dst.
func (o *Output) Headers(dst []Header, i int) []Header {
	m := o.Messages[i]
	for _, h := range o.headers[m.headers.start:m.headers.end] {
		v := h.fixed
		if v == nil {
			v = o.cut(h.value)
		}
		dst = append(dst, Header{h.key, v})
	}
	return dst
}

func (o *Output) cut(s span) []byte {
	if s == none {
		return nil
	}
	return o.Data[s.start:s.end:s.end]
}
