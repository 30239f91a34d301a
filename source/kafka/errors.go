package kafka

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/freshet-cdc/freshet/source/kafka/cell"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
	"github.com/freshet-cdc/freshet/source/kafka/format"
	"github.com/freshet-cdc/freshet/source/kafka/jsontext"
	"github.com/freshet-cdc/freshet/source/kafka/split"
	"github.com/freshet-cdc/freshet/source/kafka/table"
)

var (
	// ErrConnect is wrapped by every failure to reach the cluster.
	ErrConnect = errors.New("the Kafka cluster can't be reached")
	// ErrTopic is wrapped where a topic is missing, gone or another one than it was.
	ErrTopic = errors.New("the topic can't be read")
	// ErrNoTables is returned where the topics hold no captured table.
	ErrNoTables = errors.New("the topics hold no captured table")
	// ErrState is returned for a checkpointed state that this version can't read.
	ErrState = errors.New("the source's state in the checkpoint can't be read")
	// ErrDecode is wrapped by every RecordError.
	ErrDecode = errors.New("the record can't be decoded")
	// ErrRows is returned by Rows for a table whose content can't be told from its topics.
	ErrRows = errors.New("the table's content can't be told from the topics")
)

// RecordError is a record that can't be decoded.
type RecordError struct {
	Topic     string
	Partition int32
	Offset    int64
	Err       error // names the field, where there is one
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("topic %s, partition %d, offset %d: %v", e.Topic, e.Partition, e.Offset, e.Err)
}

// Unwrap makes the error an ErrDecode beside what it is, unless the schema registry could
// not be asked, which passes by itself.
func (e *RecordError) Unwrap() []error {
	if !lasting(e.Err) {
		return []error{e.Err}
	}
	return []error{ErrDecode, e.Err}
}

// lasting says that decoding the same record again gives the same error.
func lasting(err error) bool {
	var syntax *jsontext.SyntaxError
	if errors.As(err, &syntax) {
		return true
	}
	for _, target := range []error{format.ErrMessage, connect.ErrMessage, connect.ErrSchema, table.ErrChange, cell.ErrValue} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Permanent are the errors that another attempt can't cure.
func Permanent() []error {
	return []error{ErrTopic, ErrState, ErrDecode, split.ErrLost, split.ErrStart, split.ErrOrder}
}

// kerrIs says that err is one of the broker's errors of these names.
func kerrIs(err error, names ...string) bool {
	k, ok := errors.AsType[*kerr.Error](err)
	return ok && slices.Contains(names, k.Message)
}
