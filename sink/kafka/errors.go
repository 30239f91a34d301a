package kafka

import (
	"errors"
	"fmt"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/producer"
	"github.com/freshet-cdc/freshet/sink/kafka/registry"
	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

var (
	// ErrRows is the answer to [Sink.Rows].
	ErrRows = errors.New("kafka: topics hold changes and not rows, so they can't be compared with a table (compare what a consumer has made of them)")
	// ErrTable is a table that can't be written; see [TableError].
	ErrTable = errors.New("kafka: table can't be written")
	// ErrTopic is a topic that can't be written to; see [TopicError].
	ErrTopic = errors.New("kafka: topic can't be used")
	// ErrSource is a sink that does not know whose messages it writes.
	ErrSource = errors.New("kafka: the Debezium connector whose messages are to be written is not known (set debezium.connector to mysql, mariadb or postgresql)")

	// errClosed is what writers get when the committer has ended.
	errClosed = errors.New("kafka: the producer is closed")
)

// Permanent returns the errors that another attempt can't cure.
func Permanent() []error {
	return []error{ErrTable, ErrTopic, ErrSource, producer.ErrRecord, registry.ErrRefused, txn.ErrForeign, txn.ErrAhead}
}

// TableError is a table whose rows can't be written. Err says why.
type TableError struct {
	Table schema.TableID
	Topic string
	Err   error
}

func (e *TableError) Error() string {
	return fmt.Sprintf("kafka: table %s, topic %s: %v", e.Table, e.Topic, e.Err)
}

// Unwrap returns the reason.
func (e *TableError) Unwrap() error { return e.Err }

// Is says that it is an ErrTable.
func (e *TableError) Is(target error) bool { return target == ErrTable }

// TopicError is a topic that is not there or not as it must be.
type TopicError struct {
	Topic     string
	Msg, Hint string
}

func (e *TopicError) Error() string {
	return fmt.Sprintf("kafka: topic %s: %s (%s)", e.Topic, e.Msg, e.Hint)
}

// Is says that it is an ErrTopic.
func (e *TopicError) Is(target error) bool { return target == ErrTopic }
