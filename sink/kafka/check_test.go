package kafka

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/freshet-cdc/freshet/sink"
)

func wantProblem(t *testing.T, errs []error, key, text string) {
	t.Helper()
	var bad *sink.OptionError
	if len(errs) != 1 || !errors.As(errs[0], &bad) || bad.Key != key || !strings.Contains(bad.Error(), text) {
		t.Errorf("%v, want %s: %s", errs, key, text)
	}
}

func TestCheck(t *testing.T) {
	ctx := t.Context()
	k := cluster(t)
	t.Run("good", func(t *testing.T) {
		if errs := open(t, k, map[string]string{optTopic: "all", optPrefix: "p"}).Check(ctx); len(errs) > 0 {
			t.Error(errs)
		}
		meta, err := admin(t, k).ListTopics(ctx)
		if err != nil || len(meta) > 0 {
			t.Errorf("a check made something: %v %v", meta, err)
		}
	})
	t.Run("no topic", func(t *testing.T) {
		errs := open(t, k, map[string]string{optTopic: "all", optCreate: "false"}).Check(ctx)
		if len(errs) != 1 || !errors.Is(errs[0], ErrTopic) {
			t.Error(errs)
		}
	})
	t.Run("unreachable", func(t *testing.T) {
		s := open(t, brokers{addresses: []string{"127.0.0.1:1"}}, map[string]string{"properties.retry.backoff.ms": "1"})
		wantProblem(t, s.Check(ctx), optServers, "no broker answers")
	})
	t.Run("too old", func(t *testing.T) {
		old := cluster(t, kfake.MaxVersions(kversion.V2_8_0()))
		s := open(t, old, nil)
		wantProblem(t, s.Check(ctx), optGuarantee, "at-least-once")
		if _, err := s.NewCommitter(ctx, sink.Context{Pipeline: "p", Lineage: "L", Parallelism: 1, Reached: func(string) {}}); err == nil {
			t.Error("it runs")
		} else {
			wantProblem(t, []error{err}, optGuarantee, "at-least-once")
		}
		if errs := open(t, old, map[string]string{optGuarantee: "at-least-once"}).Check(ctx); len(errs) > 0 {
			t.Error(errs)
		}
	})
	t.Run("time-out", func(t *testing.T) {
		wantProblem(t, open(t, cluster(t, kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": "30000"})), nil).Check(ctx), optTxnTimeout, "30000")
	})
}

// TestAuthorized: what the account may not do is found before anything runs.
func TestAuthorized(t *testing.T) {
	acl := func(resource kmsg.ACLResourceType, operation kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: resource, Name: "*", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: operation, Allow: true}
	}
	describe, write := acl(kmsg.ACLResourceTypeTopic, kmsg.ACLOperationDescribe), acl(kmsg.ACLResourceTypeTopic, kmsg.ACLOperationWrite)
	read, ids := acl(kmsg.ACLResourceTypeTopic, kmsg.ACLOperationRead), acl(kmsg.ACLResourceTypeTransactionalId, kmsg.ACLOperationAll)
	k := cluster(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "all", "p.checkpoints"), kfake.User("PLAIN", "nothing", "p"),
		kfake.User("PLAIN", "sees", "p", describe), kfake.User("PLAIN", "writes", "p", describe, write, ids), kfake.User("PLAIN", "all", "p", describe, write, read, ids),
		kfake.User("PLAIN", "no-ids", "p", describe, write, read))
	for _, c := range []struct {
		user string
		g    guarantee
		want int // problems
	}{
		{"nothing", noGuarantee, 1}, {"sees", noGuarantee, 1}, {"writes", noGuarantee, 0},
		{"sees", exactlyOnce, 3}, {"writes", exactlyOnce, 1}, {"no-ids", exactlyOnce, 1}, {"all", exactlyOnce, 0},
	} {
		errs := open(t, k, map[string]string{optTopic: "all", optGuarantee: string(c.g), optPrefix: "p", "properties.security.protocol": "SASL_PLAINTEXT",
			"properties.sasl.mechanism": "PLAIN", "properties.sasl.jaas.config": `x required username=` + c.user + ` password=p;`}).Check(t.Context())
		if len(errs) != c.want {
			t.Errorf("%s, %s: %v, want %d problems", c.user, c.g, errs, c.want)
		}
		for _, err := range errs {
			var bad *sink.OptionError
			if !errors.Is(err, ErrTopic) && !(errors.As(err, &bad) && bad.Key == optPrefix) {
				t.Errorf("%s: %v", c.user, err)
			}
		}
	}
}

// TestAccount: encryption and users, as they should be and not.
func TestAccount(t *testing.T) {
	chain, key := certificate(t)
	pair, err := tls.X509KeyPair(chain, key)
	must(t, err)
	k := cluster(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "u", "p"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	account := func(password string) map[string]string {
		return map[string]string{"properties.security.protocol": "SASL_SSL", "properties.ssl.truststore.certificates": string(chain), "properties.sasl.mechanism": "SCRAM-SHA-256",
			"properties.sasl.jaas.config": `x required username="u" password="` + password + `";`}
	}
	if errs := open(t, k, account("p")).Check(t.Context()); len(errs) > 0 {
		t.Error(errs)
	}
	wantProblem(t, open(t, k, account("q")).Check(t.Context()), optServers, "the account") // this broker just hangs up
	wantProblem(t, []error{unreachable(kerr.SaslAuthenticationFailed)}, "properties.sasl.jaas.config", "refuses")
	stranger := account("p")
	other, _ := certificate(t)
	stranger["properties.ssl.truststore.certificates"] = string(other)
	wantProblem(t, open(t, k, stranger).Check(t.Context()), optServers, "certificate")
	stranger["properties.ssl.endpoint.identification.algorithm"] = "" // the name alone
	wantProblem(t, open(t, k, stranger).Check(t.Context()), optServers, "certificate")
}
