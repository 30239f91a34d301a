package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// topicTries is how often a topic that was just made is asked for.
	topicTries = 30
	topicPause = 100 * time.Millisecond
)

// topics knows how many partitions topics have, and makes those that are missing. The
// number stays as long as the pipeline runs, so that a key keeps its partition.
type topics struct {
	admin    *kgo.Client
	creation creation

	mu    sync.Mutex // held over requests, so that a topic is made once
	known map[string]int32
}

// partitions returns the number of a topic's partitions. keyed: its messages have keys.
func (t *topics) partitions(ctx context.Context, name string, keyed bool) (int32, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n, ok := t.known[name]; ok {
		return n, nil
	}
	found, err := describeTopic(ctx, t.admin, name)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		if err = t.create(ctx, name, keyed); err == nil {
			found, err = t.await(ctx, name)
		}
	}
	switch {
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return 0, &TopicError{Topic: name, Msg: "the account may not see it", Hint: "grant Describe and Write, and Create where it is missing"}
	case err != nil:
		return 0, fmt.Errorf("kafka: topic %s: %w", name, err)
	}
	t.known[name] = int32(len(found.Partitions))
	return t.known[name], nil
}

// create makes a topic.
func (t *topics) create(ctx context.Context, name string, keyed bool) error {
	switch {
	case !t.creation.enabled:
		return &TopicError{Topic: name, Msg: "it is missing", Hint: "create it, or set " + optCreate}
	case !keyed && t.creation.compacts():
		return &TopicError{Topic: name, Msg: "its table has no key, and a compacted topic takes no message without one", Hint: "give it another topic that exists by " + optMapping + ", or a key by " + optKeyColumns}
	}
	_, err := kadm.NewClient(t.admin).CreateTopic(ctx, t.creation.partitions, t.creation.replicas, t.creation.configs, name)
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return nil
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return &TopicError{Topic: name, Msg: "it is missing, and the account may not create it", Hint: "create it, or grant Create"}
	case errors.Is(err, kerr.InvalidConfig), errors.Is(err, kerr.InvalidReplicationFactor), errors.Is(err, kerr.InvalidPartitions), errors.Is(err, kerr.PolicyViolation):
		return &TopicError{Topic: name, Msg: fmt.Sprintf("it can't be created: %v", err), Hint: "look at " + optCreation + "*"}
	}
	return err
}

// await returns a topic that was just made, when it can be seen.
func (t *topics) await(ctx context.Context, name string) (found kmsg.MetadataResponseTopic, err error) {
	for range topicTries {
		if found, err = describeTopic(ctx, t.admin, name); err == nil {
			return found, nil
		}
		select {
		case <-time.After(topicPause):
		case <-ctx.Done():
			return found, context.Cause(ctx)
		}
	}
	return found, err
}

// describeTopic asks a broker for a topic, also for what the account may do there.
func describeTopic(ctx context.Context, k *kgo.Client, name string) (kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = true
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &name
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(ctx, k)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, err
	}
	if len(resp.Topics) != 1 {
		return kmsg.MetadataResponseTopic{}, kerr.UnknownTopicOrPartition
	}
	return resp.Topics[0], kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}
