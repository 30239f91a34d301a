package kafka

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// TestOptionErrors: what is wrong with an option is said of that option, with the way out.
func TestOptionErrors(t *testing.T) {
	for _, c := range []struct{ key, value, text string }{
		{optServers, " , ", "no broker"},
		{"topik", "a", `nearest is topic`},
		{"properties.compresion.type", "lz4", "nearest is properties.compression.type"},
		{"properties.linger", "5", "nearest is properties.linger.ms"},
		{"properties.linger.ms", "5s", "not a number"},
		{"properties.acks", "1", "all replicas"},
		{"properties.acks", "two", "all, 1, 0"},
		{"properties.enable.idempotence", "false", "idempotent"},
		{"properties.compression.type", "rar", "gzip, lz4, none, snappy, zstd"},
		{"properties.transactional.id", "x", optPrefix},
		{"properties.security.protocol", "SSH", "PLAINTEXT, SASL_PLAINTEXT, SASL_SSL, SSL"},
		{"properties.ssl.truststore.type", "JKS", "PEM"},
		{optGuarantee, "twice", "exactly-once"},
		{optPrefix, "a b", "letters"},
		{optMarkers, "ä", "letters"},
		{optTopic, "a b", "letters"},
		{optTopicPrefix, "a/b", "letters"},
		{optMapping, "a.b", "selector:topic"},
		{optMapping, "a.(:t", "selector"},
		{optMapping, "a.b.c.d:t", "three parts"},
		{optStrategy, "random", "hash-by-key"},
		{optCreate, "maybe", "neither"},
		{optPartitions, "0", "at least one"},
		{optReplicas, "x", "not a number"},
		{"sink.custom-header", "nothing", "header"},
		{"value.format", "xml", "debezium-json"},
		{"debezium.decimal.handling.mode", "exact", "precise"},
		{"debezium.skipped.operations", "x", "none"},
		{optKeyColumns, "t", "rule"},
		{optConnector, "oracle", "mysql"},
		{"debezium.tombstones", "x", "tombstones.on.delete"},
	} {
		opts := map[string]string{optServers: "localhost:9092", c.key: c.value}
		_, err := New(opts, nil)
		var bad *sink.OptionError
		if !errors.As(err, &bad) || bad.Key != c.key || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s=%s: %v, want %q", c.key, c.value, err, c.text)
		}
	}
	if _, err := New(nil, nil); err == nil || !strings.Contains(err.Error(), optServers) {
		t.Errorf("%v", err)
	}
}

// TestProperties: everything that a Java client's file has makes a client here.
func TestProperties(t *testing.T) {
	dir := t.TempDir()
	chain, key := certificate(t)
	must(t, os.WriteFile(filepath.Join(dir, "both.pem"), append(chain, key...), 0o600))
	jaas := `org.apache.kafka.common.security.scram.ScramLoginModule required username="us\"er" password=pass;`
	for name, opts := range map[string]map[string]string{
		"producer": {"properties.client.id": "c", "properties.client.rack": "r", "properties.acks": "all", "properties.enable.idempotence": "true", "properties.compression.type": "zstd", "properties.compression.zstd.level": "3",
			"properties.linger.ms": "20", "properties.max.request.size": "90000000", "properties.buffer.memory": "100000000", "properties.delivery.timeout.ms": "120000", "properties.request.timeout.ms": "30000",
			"properties.retries": "2147483647", "properties.retry.backoff.ms": "100", "properties.metadata.max.age.ms": "300000", "properties.connections.max.idle.ms": "540000", "properties.socket.connection.setup.timeout.ms": "10000",
			optTxnTimeout: "60000"},
		"unsafe":    {optGuarantee: "none", "properties.acks": "0", "properties.enable.idempotence": "false"},
		"scram":     {"properties.security.protocol": "SASL_PLAINTEXT", "properties.sasl.mechanism": "SCRAM-SHA-512", "properties.sasl.jaas.config": jaas},
		"tls":       {"properties.security.protocol": "SSL"},
		"mutual":    {"properties.security.protocol": "SSL", "properties.ssl.keystore.location": filepath.Join(dir, "both.pem"), "properties.ssl.truststore.location": filepath.Join(dir, "both.pem"), "properties.ssl.keystore.type": "PEM"},
		"text":      {"properties.security.protocol": "SSL", "properties.ssl.keystore.certificate.chain": string(chain), "properties.ssl.keystore.key": string(key), "properties.ssl.truststore.certificates": string(chain), "properties.ssl.endpoint.identification.algorithm": ""},
		"no effect": {"properties.batch.size": "16384", "properties.max.block.ms": "1", "properties.max.in.flight.requests.per.connection": "5"},
	} {
		t.Run(name, func(t *testing.T) {
			opts[optServers] = "localhost:1, localhost:2"
			var log bytes.Buffer
			s, err := New(opts, slog.New(slog.NewTextHandler(&log, nil)))
			must(t, err)
			p := s.opts.properties
			k, err := kgo.NewClient(append(append([]kgo.Opt{}, p.common...), p.producing...)...)
			must(t, err)
			k.Close()
			p.warn(s.logger)
			if (name == "no effect") != (strings.Count(log.String(), "no effect") == 3) {
				t.Error(log.String())
			}
		})
	}
	for _, bad := range []map[string]string{
		{"properties.security.protocol": "SASL_SSL", "properties.sasl.mechanism": "PLAIN", "properties.sasl.jaas.config": "required username=u;"},
		{"properties.security.protocol": "SASL_SSL", "properties.sasl.mechanism": "GSSAPI"},
		{"properties.security.protocol": "SSL", "properties.ssl.keystore.location": filepath.Join(dir, "none.pem")},
		{"properties.security.protocol": "SSL", "properties.ssl.keystore.certificate.chain": string(chain)},
		{"properties.sasl.mechanism": "PLAIN"},
		{"properties.ssl.truststore.certificates": string(chain)},
		{optGuarantee: "at-least-once", "properties.acks": "1"},
		{optGuarantee: "at-least-once", "properties.acks": "0", "properties.enable.idempotence": "false"},
	} {
		opts := map[string]string{optServers: "localhost:1"}
		maps.Copy(opts, bad)
		if _, err := New(opts, nil); !errors.As(err, new(*sink.OptionError)) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// certificate returns a certificate and its key as PEM.
func certificate(t *testing.T) (chain, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// TestSecrets: what must not be printed is marked so.
func TestSecrets(t *testing.T) {
	for _, key := range []string{"properties.sasl.jaas.config", "properties.ssl.keystore.key", "properties.sasl.oauthbearer.client.credentials.client.secret", optUserInfo,
		"schema.registry.bearer.auth.token", "schema.registry.ssl.keystore.key", "properties.ssl.key.password"} {
		if !specOf(key).Secret {
			t.Errorf("%s is no secret", key)
		}
	}
}

// TestInterval: transactions must live longer than a checkpoint takes.
func TestInterval(t *testing.T) {
	s, err := New(map[string]string{optServers: "localhost:1", optTxnTimeout: "60000"}, nil)
	must(t, err)
	if err := s.CheckTimes(10*time.Second, 30*time.Second); err != nil {
		t.Error(err)
	}
	if err := s.CheckTimes(10*time.Second, time.Minute); !errors.As(err, new(*sink.OptionError)) {
		t.Errorf("%v", err)
	}
}

// TestKeyColumns: rules give keys, and with them several writers would lose the order.
func TestKeyColumns(t *testing.T) { each(t, testKeyColumns) }

func testKeyColumns(t *testing.T, k brokers) {
	s := open(t, k, map[string]string{optKeyColumns: `s.k\d:n,id; x.y:z`})
	def := table("k1", "id")
	r := rig(t, s, 1, def)
	write(t, r, def, insert(3)...)
	checkpoint(t, r)
	if got := consume(t, k, "s.k1").read(1); len(got) != 1 || got[0].key != `{"n":3,"id":3}` {
		t.Errorf("%v", got)
	}
	r.Crash()
	if err := r.Start(t.Context(), 2); !errors.As(err, new(*sink.OptionError)) {
		t.Errorf("%v", err)
	}
}

// TestSelectors: what Flink CDC's selectors mean.
func TestSelectors(t *testing.T) {
	for _, c := range []struct {
		selector string
		id       schema.TableID
		want     bool
	}{
		{"app.orders", schema.TableID{Schema: "app", Table: "orders"}, true},
		{"APP.Orders", schema.TableID{Schema: "app", Table: "orders"}, true},
		{"app.order", schema.TableID{Schema: "app", Table: "orders"}, false},
		{`app.\.*`, schema.TableID{Schema: "app", Table: "any"}, true},
		{`a.x, app.(o|p)\.*`, schema.TableID{Schema: "app", Table: "paid"}, true},
		{`app.o{1\,2}`, schema.TableID{Schema: "app", Table: "oo"}, true},
		{"app.orders", schema.TableID{Namespace: "d", Schema: "app", Table: "orders"}, false},
		{"def.app.orders", schema.TableID{Schema: "app", Table: "orders"}, true},
		{"orders", schema.TableID{Table: "orders"}, true},
	} {
		match, err := compileSelector(c.selector)
		must(t, err)
		if got := match(c.id); got != c.want {
			t.Errorf("%s of %v: %v", c.selector, c.id, got)
		}
	}
}
