package kafka

import (
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// Sizes of what is handed on at once.
const (
	pollRecords = 8192
	batchRows   = 8192
	batchBytes  = 4 << 20 // of messages
)

// metadataAge is how old what a client knows of topics has to be before it asks again: new
// partitions are not seen before that.
const metadataAge = 500 * time.Millisecond

var allocator = memory.DefaultAllocator

// fetchError returns what of fetching can't go on by itself; franz-go tries the rest again.
func fetchError(fetches kgo.Fetches) error {
	var out error
	fetches.EachError(func(topic string, partition int32, err error) {
		k := split.Key{Topic: topic, Partition: partition}
		var loss *kgo.ErrDataLoss
		switch {
		case out != nil:
		case kerrIs(err, "OFFSET_OUT_OF_RANGE"):
			out = fmt.Errorf("%s: %w: the offset to read next was deleted, or the partition was truncated (see properties.auto.offset.reset)", k, split.ErrLost)
		case errors.As(err, &loss):
			out = fmt.Errorf("%s: %w: %w", k, split.ErrLost, err)
		case kerrIs(err, "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "TOPIC_AUTHORIZATION_FAILED"):
			out = topicError(topic, err)
		default:
			out = fmt.Errorf("%s: %w: %w", k, ErrConnect, err)
		}
	})
	return out
}
