package producer

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// RecordError is a record that was not written.
type RecordError struct {
	Topic     string
	Partition int32
	// Bytes is the size of its key and value.
	Bytes int
	Err   error
}

// NewRecordError returns the error of a record.
func NewRecordError(r *kgo.Record, err error) *RecordError {
	return &RecordError{Topic: r.Topic, Partition: r.Partition, Bytes: len(r.Key) + len(r.Value), Err: err}
}

func (e *RecordError) Error() string {
	text := fmt.Sprintf("kafka: a record of %d bytes for topic %s, partition %d was not written: %v", e.Bytes, e.Topic, e.Partition, e.Err)
	switch {
	case errors.Is(e.Err, kerr.MessageTooLarge):
		text += " (raise properties.max.request.size, and max.message.bytes of the topic; properties.buffer.memory must hold it too)"
	case errors.Is(e.Err, kerr.InvalidRecord):
		text += " (a compacted topic takes no message without a key)"
	case errors.Is(e.Err, kerr.TopicAuthorizationFailed):
		text += " (grant Write on the topic)"
	}
	return text
}

// Unwrap returns the client's error.
func (e *RecordError) Unwrap() error { return e.Err }
