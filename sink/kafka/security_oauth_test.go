package kafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/freshet-cdc/freshet/sink"
)

// identity is a server that hands out tokens; refuse makes it hand out none.
type identity struct {
	asked  atomic.Int64
	refuse atomic.Bool
	url    string
}

func newIdentity(t *testing.T, life int) *identity {
	i := &identity{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := i.asked.Add(1)
		id, secret, _ := r.BasicAuth()
		answer := map[string]any{"access_token": fmt.Sprintf("token%d", n), "expires_in": life, "token_type": "Bearer"}
		if i.refuse.Load() || id != "me%3A" || secret != "hush" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "kafka" {
			w.WriteHeader(http.StatusUnauthorized)
			answer = map[string]any{"error": "invalid_client", "error_description": "who is it"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// tokenCluster starts a cluster that takes one token, with what goes with it.
func tokenCluster(t *testing.T, token, extension string) []string {
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	must(t, err)
	t.Cleanup(k.Close)
	k.ControlKey(int16(kmsg.SASLHandshake), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.SupportedMechanisms = []string{"OAUTHBEARER"}
		return resp, nil, true
	})
	k.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		if got := string(req.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes); !strings.Contains(got, "auth=Bearer "+token+"\x01"+extension) {
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		}
		return resp, nil, true
	})
	return k.ListenAddrs()
}

func oauthOptions(more map[string]string) map[string]string {
	opts := map[string]string{optServers: "localhost:1", "properties.security.protocol": "SASL_PLAINTEXT", "properties.sasl.mechanism": "OAUTHBEARER"}
	for k, v := range more {
		opts[k] = v
	}
	return opts
}

const oauthLogin = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="me:" clientSecret="hush" scope="kafka" extension_logicalCluster="lkc-1";`

// TestTokens: a token is kept for most of its life, and no error tells the secret.
func TestTokens(t *testing.T) {
	i := newIdentity(t, 100)
	r := &propertyReader{}
	r.security.endpoint = i.url
	if r.oauth(map[string]string{"clientId": "me:", "clientSecret": "hush", "scope": "kafka"}); r.err != nil {
		t.Fatal(r.err)
	}
	now := time.Unix(1_700_000_000, 0)
	tokens := r.tokens
	tokens.now = func() time.Time { return now }
	for _, step := range []struct {
		wait time.Duration
		want string
	}{{0, "token1"}, {79 * time.Second, "token1"}, {time.Second, "token2"}} {
		now = now.Add(step.wait)
		auth, err := tokens.auth(t.Context())
		if err != nil || auth.Token != step.want {
			t.Errorf("%v, %v, want %s", auth.Token, err, step.want)
		}
	}
	i.refuse.Store(true)
	now = now.Add(time.Hour)
	if _, err := tokens.auth(t.Context()); !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), "invalid_client who is it") || strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}

// TestOAuth: a client comes into a cluster that takes tokens, from an endpoint, a file or the
// options, and a wrong one says so.
func TestOAuth(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte("token1\n"), 0o600))
	i := newIdentity(t, 3600)
	for name, more := range map[string]map[string]string{
		"endpoint": {"properties.sasl.oauthbearer.token.endpoint.url": i.url, "properties.sasl.jaas.config": oauthLogin},
		"newer": {"properties.sasl.oauthbearer.token.endpoint.url": i.url, "properties.sasl.oauthbearer.client.credentials.client.id": "me:",
			"properties.sasl.oauthbearer.client.credentials.client.secret": "hush", "properties.sasl.oauthbearer.scope": "kafka"},
		"file":   {"properties.sasl.oauthbearer.token.endpoint.url": "file://" + file},
		"static": {"properties.sasl.jaas.config": `...OAuthBearerLoginModule required token="token1";`},
		"wrong":  {"properties.sasl.jaas.config": `...OAuthBearerLoginModule required token="hushhush";`},
	} {
		t.Run(name, func(t *testing.T) {
			i.asked.Store(0)
			s, err := New(oauthOptions(more), nil)
			must(t, err)
			extension := ""
			if name == "endpoint" {
				extension = "logicalCluster=lkc-1\x01"
			}
			client, err := kgo.NewClient(append(s.opts.properties.common, kgo.SeedBrokers(tokenCluster(t, "token1", extension)...))...)
			must(t, err)
			defer client.Close()
			err = client.Ping(t.Context())
			if (err == nil) != (name != "wrong") {
				t.Fatal(err)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Error(err)
			}
		})
	}
}

// TestOAuthOptions: what is missing is said of the option that lacks it.
func TestOAuthOptions(t *testing.T) {
	endpoint := "properties.sasl.oauthbearer.token.endpoint.url"
	for _, c := range []struct {
		key  string
		opts map[string]string
	}{
		{endpoint, nil},
		{endpoint, map[string]string{endpoint: "ftp://x"}},
		{endpoint, map[string]string{endpoint: "http://x", "properties.sasl.jaas.config": `required token="hush";`}},
		{"properties.sasl.jaas.config", map[string]string{endpoint: "http://x", "properties.sasl.jaas.config": `required clientId="a";`}},
	} {
		_, err := New(oauthOptions(c.opts), nil)
		var bad *sink.OptionError
		if !errors.As(err, &bad) || bad.Key != c.key || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v: %v", c.opts, err)
		}
	}
	if _, err := New(map[string]string{optServers: "localhost:1", endpoint: "http://x"}, nil); err == nil || !strings.Contains(err.Error(), "security.protocol") {
		t.Error(err)
	}
}

// TestStores: Java's stores are told apart and refused with the way out, and passwords never
// printed.
func TestStores(t *testing.T) {
	dir := t.TempDir()
	jks, p12 := filepath.Join(dir, "a.jks"), filepath.Join(dir, "a.p12")
	must(t, os.WriteFile(jks, []byte("\xfe\xed\xfe\xed\x00\x00\x00\x02"), 0o600))
	must(t, os.WriteFile(p12, []byte("\x30\x82\x01\x00"), 0o600))
	for _, c := range []struct{ key, value, text string }{
		{"properties.ssl.truststore.location", jks, "JKS"},
		{"properties.ssl.keystore.location", p12, "PKCS12"},
		{"properties.ssl.truststore.type", "JKS", "openssl"},
		{"properties.ssl.truststore.password", "hush", "openssl"},
		{"properties.ssl.key.password", "hush", "openssl"},
	} {
		_, err := New(map[string]string{optServers: "localhost:1", "properties.security.protocol": "SSL", c.key: c.value}, nil)
		var bad *sink.OptionError
		if !errors.As(err, &bad) || bad.Key != c.key || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hush") || !strings.Contains(bad.Hint, "PEM") {
			t.Errorf("%s: %v", c.key, err)
		}
	}
}
