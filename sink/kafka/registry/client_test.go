package registry_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/sr/srfake"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/sink/kafka/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	text  = `{"type":"record","name":"Value","fields":[{"name":"id","type":"int"}]}`
	other = `{"type":"record","name":"Value","fields":[{"name":"id","type":"int"},{"name":"n","type":{"type":"record","name":"N","fields":[{"name":"deep","type":["null","string"]}]}}]}`
)

func fake(t *testing.T, opts ...srfake.Option) *srfake.Registry {
	r := srfake.New(opts...)
	t.Cleanup(r.Close)
	return r
}

func client(t *testing.T, o registry.Options) *registry.Client {
	t.Helper()
	c, err := registry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestID: a schema is registered once, keeps its number, and another one gets another.
func TestID(t *testing.T) {
	r := fake(t)
	var posts atomic.Int64
	r.Intercept(func(_ http.ResponseWriter, req *http.Request) bool {
		if req.Method == http.MethodPost {
			posts.Add(1)
		}
		return false
	})
	c := client(t, registry.Options{URLs: []string{"http://127.0.0.1:1", r.URL()}, Register: true})
	var ids []int
	for _, s := range []string{text, text, other} {
		id, err := c.ID(t.Context(), "t-value", registry.Schema{Text: s})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if ids[0] != ids[1] || ids[0] == ids[2] || posts.Load() != 2 {
		t.Errorf("%v after %d requests", ids, posts.Load())
	}
	if id, err := c.ID(t.Context(), "u-value", registry.Schema{Text: text}); err != nil || id != ids[0] || !r.SubjectExists("u-value") {
		t.Errorf("another subject: %d, %v", id, err)
	}
	again := client(t, registry.Options{URLs: []string{r.URL()}})
	if id, err := again.ID(t.Context(), "t-value", registry.Schema{Text: text}); err != nil || id != ids[0] {
		t.Errorf("%d, %v", id, err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNotThere: where schemas are not registered on the way they must be there.
func TestNotThere(t *testing.T) {
	c := client(t, registry.Options{URLs: []string{fake(t).URL()}})
	_, err := c.ID(t.Context(), "t-value", registry.Schema{Text: text})
	var refused *registry.Error
	if !errors.As(err, &refused) || !errors.Is(err, registry.ErrRefused) || refused.Subject != "t-value" || !strings.Contains(err.Error(), "auto.register.schemas") {
		t.Error(err)
	}
}

// TestReferences: what a schema takes from other subjects is registered before, with its
// version.
func TestReferences(t *testing.T) {
	r := fake(t)
	inner := registry.Schema{Text: `{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"cents","type":"long"}]}`}
	outer := registry.Schema{Text: `{"type":"record","name":"Value","fields":[{"name":"price","type":"shop.Money"}]}`,
		References: []registry.Reference{{Name: "shop.Money", Subject: "shop.Money", Schema: inner}}}
	if _, err := client(t, registry.Options{URLs: []string{r.URL()}, Register: true}).ID(t.Context(), "t-value", outer); err != nil {
		t.Fatal(err)
	}
	found, ok := r.GetSchema("t-value", 1)
	if !ok || len(found.References) != 1 || found.References[0].Name != "shop.Money" || found.References[0].Subject != "shop.Money" || found.References[0].Version != 1 {
		t.Errorf("%+v", found)
	}
}

// TestIncompatible: the error names subject, version and field, and another attempt is
// not worth it.
func TestIncompatible(t *testing.T) {
	for name, c := range map[string]struct {
		refusal, check string
		fields         []string
		version        int
	}{
		"named": {`Schema being registered is incompatible with an earlier schema for subject "t-value", details: [{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'The field 'n' at path '/fields/1' in the new schema has no default value and is missing in the old schema', additionalInfo:'n'}, {oldSchemaVersion: 3}]`, `[]`, []string{"n"}, 3},
		"asked": {"Schema being registered is incompatible with an earlier schema", `["{errorType:'TYPE_MISMATCH', description:'The type (path '/fields/1/type/fields/0/type/1') of a field in the new schema does not match with the old schema', additionalInfo:'reader type: STRING not compatible with writer type: INT'}"]`, []string{"deep"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := fake(t)
			o := registry.Options{URLs: []string{r.URL()}, Register: true}
			if _, err := client(t, o).ID(t.Context(), "t-value", registry.Schema{Text: text}); err != nil {
				t.Fatal(err)
			}
			r.Intercept(func(w http.ResponseWriter, req *http.Request) bool {
				switch {
				case strings.HasPrefix(req.URL.Path, "/compatibility/") && req.URL.Query().Get("verbose") == "true":
					_, _ = io.WriteString(w, `{"is_compatible":false,"messages":`+c.check+`}`)
				case req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/versions"):
					w.WriteHeader(http.StatusConflict)
					_ = json.NewEncoder(w).Encode(map[string]any{"error_code": 409, "message": c.refusal})
				default:
					return false
				}
				return true
			})
			_, err := client(t, o).ID(t.Context(), "t-value", registry.Schema{Text: other})
			var refused *registry.Error
			if !errors.As(err, &refused) || refused.Subject != "t-value" || refused.Version != c.version || !slices.Equal(refused.Fields, c.fields) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestAway: a registry that does not answer is asked again; one that refuses is not.
func TestAway(t *testing.T) {
	r := fake(t)
	var asked atomic.Int64
	r.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if asked.Add(1) > 2 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	c := client(t, registry.Options{URLs: []string{r.URL()}, Register: true})
	if _, err := c.ID(t.Context(), "t-value", registry.Schema{Text: text}); err != nil || asked.Load() != 3 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := client(t, registry.Options{URLs: []string{"http://127.0.0.1:1"}, Register: true})
	done := make(chan error, 1)
	go func() {
		_, err := gone.ID(ctx, "t-value", registry.Schema{Text: text})
		done <- err
	}()
	stop := errors.New("stop")
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if err := gone.Check(t.Context()); !errors.Is(err, registry.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// TestAccount: with the account or the token requests are taken, without they are refused.
func TestAccount(t *testing.T) {
	for _, c := range []struct {
		header string
		o      registry.Options
		ok     bool
	}{
		{"Basic dTpwOnc=", registry.Options{User: "u", Password: "p:w"}, true},
		{"Bearer abc", registry.Options{Token: "abc"}, true},
		{"Bearer abc", registry.Options{User: "u", Password: "secret"}, false},
	} {
		r := fake(t, srfake.WithAuth(c.header))
		c.o.URLs, c.o.Register = []string{r.URL()}, true
		_, err := client(t, c.o).ID(t.Context(), "t-value", registry.Schema{Text: text})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.header, err)
		}
		if err != nil && (!errors.Is(err, registry.ErrRefused) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "account")) {
			t.Error(err)
		}
	}
}

// TestTLS: a registry is trusted whose certificate is.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(srfake.NewRegistry().Handler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	trusting := client(t, registry.Options{URLs: []string{server.URL}, Register: true, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}})
	if _, err := trusting.ID(t.Context(), "t-value", registry.Schema{Text: text}); err != nil {
		t.Error(err)
	}
	if err := client(t, registry.Options{URLs: []string{server.URL}}).Check(t.Context()); err == nil {
		t.Error("a certificate that nobody signed was trusted")
	}
}

// TestSubject: the names of subjects, and the strategies by their classes.
func TestSubject(t *testing.T) {
	for _, c := range []struct{ strategy, value, key string }{
		{"TopicNameStrategy", "orders-value", "orders-key"},
		{"io.confluent.kafka.serializers.subject.RecordNameStrategy", "shop.Value", "shop.Value"},
		{"TopicRecordNameStrategy", "orders-shop.Value", "orders-shop.Value"},
	} {
		s, ok := registry.ParseStrategy(c.strategy)
		if value, key := s.Subject("orders", "shop.Value", false), s.Subject("orders", "shop.Value", true); !ok || value != c.value || key != c.key {
			t.Errorf("%s: %s, %s, %v", c.strategy, value, key, ok)
		}
	}
	if _, ok := registry.ParseStrategy("Mine"); ok {
		t.Error("an unknown strategy was taken")
	}
	if h := registry.Header(258); string(h) != "\x00\x00\x00\x01\x02" {
		t.Errorf("%x", h)
	}
}
