package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cdc/freshet/sink"
)

// checkTimeout bounds a check; a client alone would try for much longer.
const checkTimeout = 15 * time.Second

// keyListTransactions is the youngest of the requests that the protocol needs (Kafka 3.0).
const keyListTransactions = 66

// Operations of Kafka's authorizer, as bits of a number.
const (
	mayRead     = 1 << 3
	mayWrite    = 1 << 4
	mayDescribe = 1 << 8
	unknownMay  = -1 << 31 // the broker does not say
)

// Check connects and verifies without changing anything.
func (s *Sink) Check(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	k, err := kgo.NewClient(s.opts.properties.common...)
	if err != nil {
		return []error{fmt.Errorf("kafka: %w", err)}
	}
	defer k.Close()
	if err := k.Ping(ctx); err != nil {
		return []error{unreachable(err)}
	}
	var problems []error
	add := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if c := s.opts.format.avro.registry; c != nil {
		add(c.Check(ctx))
	}
	for _, name := range s.opts.named {
		add(s.checkTopic(ctx, k, name, mayWrite|mayDescribe, s.opts.creation.enabled))
	}
	if s.opts.guarantee != exactlyOnce {
		return problems
	}
	if err := versionProblem(ctx, k); err != nil {
		return append(problems, err)
	}
	add(s.checkTimeout(ctx, k))
	if prefix, markers := s.ids(""); prefix != "" {
		add(s.checkTopic(ctx, k, markers, mayRead|mayWrite|mayDescribe, true))
		add(checkID(ctx, k, prefix))
	}
	return problems
}

// unreachable says which option a failed connection is about.
func unreachable(err error) error {
	if errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism) {
		return &sink.OptionError{Key: "properties.sasl.jaas.config", Msg: fmt.Sprintf("the broker refuses the account: %v", err), Hint: "check user, password and properties.sasl.mechanism"}
	}
	return &sink.OptionError{Key: optServers, Msg: fmt.Sprintf("no broker answers: %v", err), Hint: "check the addresses, also those that the brokers advertise, properties.security.protocol, and the account, if there is one"}
}

// tooOld asks whether the cluster is too old for the protocol; nil where nobody answers.
func (s *Sink) tooOld(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	k, err := kgo.NewClient(s.opts.properties.common...)
	if err != nil {
		return nil
	}
	defer k.Close()
	if bad := (*sink.OptionError)(nil); errors.As(versionProblem(ctx, k), &bad) {
		return bad
	}
	return nil
}

// versionProblem returns what the cluster lacks.
func versionProblem(ctx context.Context, k *kgo.Client) error {
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, k)
	if err != nil {
		return fmt.Errorf("kafka: asking for the brokers' versions: %w", err)
	}
	for _, key := range resp.ApiKeys {
		if key.ApiKey == keyListTransactions {
			return nil
		}
	}
	return &sink.OptionError{Key: optGuarantee, Msg: "exactly-once needs Kafka 3.0 or newer, the broker is older", Hint: "set it to at-least-once"}
}

// checkTimeout compares the time-out of transactions with the most that brokers allow,
// where they say it.
func (s *Sink) checkTimeout(ctx context.Context, k *kgo.Client) error {
	admin := kadm.NewClient(k)
	meta, err := admin.BrokerMetadata(ctx)
	if err != nil || len(meta.Brokers) == 0 {
		return err
	}
	configs, err := admin.DescribeBrokerConfigs(ctx, meta.Brokers[0].NodeID)
	if err != nil {
		return nil // an account that may not see it: the broker itself will refuse a longer one
	}
	for _, r := range configs {
		for _, c := range r.Configs {
			if c.Key != "transaction.max.timeout.ms" || c.Value == nil {
				continue
			}
			most, err := strconv.ParseInt(*c.Value, 10, 64)
			if want := s.opts.properties.txnTimeout; err == nil && want.Milliseconds() > most {
				return &sink.OptionError{Key: optTxnTimeout, Msg: fmt.Sprintf("%d is more than the broker's transaction.max.timeout.ms, %d", want.Milliseconds(), most), Hint: "set one of the two"}
			}
		}
	}
	return nil
}

// checkTopic verifies that a topic can be used, or be made.
func (s *Sink) checkTopic(ctx context.Context, k *kgo.Client, name string, needs int32, create bool) error {
	found, err := describeTopic(ctx, k, name)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition) && create:
		return nil
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return &TopicError{Topic: name, Msg: "it is missing", Hint: "create it, or set " + optCreate}
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		return &TopicError{Topic: name, Msg: "the account may not see it", Hint: "grant Describe and Write, and Create where it is missing"}
	case err != nil:
		return fmt.Errorf("kafka: topic %s: %w", name, err)
	}
	if may := found.AuthorizedOperations; may != unknownMay && may&needs != needs {
		hint := "grant Describe and Write"
		if needs&mayRead != 0 {
			hint = "grant Describe, Read and Write"
		}
		return &TopicError{Topic: name, Msg: "the account may not do what is needed", Hint: hint}
	}
	return nil
}

// checkID verifies that the account may use transactional ids with a prefix.
func checkID(ctx context.Context, k *kgo.Client, prefix string) error {
	described, err := kadm.NewClient(k).DescribeTransactions(ctx, prefix+"-0")
	if err == nil {
		err = described[prefix+"-0"].Err
	}
	if errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return &sink.OptionError{Key: optPrefix, Msg: fmt.Sprintf("the account may not use transactional ids that begin with %s-", prefix), Hint: "grant Describe and Write on transactional ids with that prefix"}
	}
	return nil // that there is no such id yet is what is expected
}
