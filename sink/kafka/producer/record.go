package producer

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrRecord is a record that the broker will never take as things are; see [RecordError].
var ErrRecord = errors.New("kafka: a record can't be written")

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
	text := fmt.Sprintf("a record of %d bytes for topic %s, partition %d was not written: %v", e.Bytes, e.Topic, e.Partition, e.Err)
	switch {
	case errors.Is(e.Err, kerr.MessageTooLarge), errors.Is(e.Err, kerr.RecordListTooLarge):
		text += " (raise properties.max.request.size, and max.message.bytes of the topic; properties.buffer.memory must hold it too)"
	case errors.Is(e.Err, kerr.InvalidRecord):
		text += " (a compacted topic takes no message without a key)"
	case errors.Is(e.Err, kerr.TopicAuthorizationFailed):
		text += " (grant Write on the topic)"
	}
	return text
}

// Is says that it is an ErrRecord, where another attempt would end alike.
func (e *RecordError) Is(target error) bool {
	if target != ErrRecord {
		return false
	}
	for _, final := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.TopicAuthorizationFailed} {
		if errors.Is(e.Err, final) {
			return true
		}
	}
	return false
}

// Unwrap returns the client's error.
func (e *RecordError) Unwrap() error { return e.Err }
