package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// ErrToken is a token that can't be had; the identity provider or its file says why.
var ErrToken = errors.New("kafka: no token for OAUTHBEARER")

const (
	tokenTimeout = 30 * time.Second
	// maxToken bounds what is read of an answer.
	maxToken = 1 << 20
	// extensionPrefix begins the options of a login module that go to the broker.
	extensionPrefix = "extension_"
)

// tokens fetches tokens and keeps each for four fifths of its life.
type tokens struct {
	static            string
	endpoint          *url.URL // of http, https or file
	id, secret, scope string
	extensions        map[string]string
	client            *http.Client
	now               func() time.Time
	mu                sync.Mutex
	cached            string
	until             time.Time
}

// oauth returns the mechanism OAUTHBEARER: tokens come from an endpoint, by client
// credentials, from a file, or are given.
func (r *propertyReader) oauth(login map[string]string) sasl.Mechanism {
	s := &r.security
	orElse := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	t := &tokens{static: login["token"], id: orElse(login["clientId"], s.clientID), secret: orElse(login["clientSecret"], s.clientSecret),
		scope: orElse(login["scope"], s.scope), extensions: map[string]string{}, now: time.Now}
	for key, v := range login {
		if name, ok := strings.CutPrefix(key, extensionPrefix); ok {
			t.extensions[name] = v
		}
	}
	endpoint := optProperties + "sasl.oauthbearer.token.endpoint.url"
	hint := "for instance https://identity/token; or give the token itself in sasl.jaas.config as token=\"...\""
	switch u, err := url.Parse(s.endpoint); {
	case t.static != "" && s.endpoint != "":
		r.fail(endpoint, "sasl.jaas.config has a token already", "leave one of the two out")
	case t.static != "":
	case s.endpoint == "":
		r.fail(endpoint, "it is missing", hint)
	case err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "file":
		r.fail(endpoint, "it is no URL of http, https or file", hint)
	case u.Scheme != "file" && (t.id == "" || t.secret == ""):
		r.fail(optProperties+"sasl.jaas.config", "it has no clientId or no clientSecret", `for instance org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="c" clientSecret="s";`)
	default:
		t.endpoint = u
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // a token is asked for so rarely
	transport.TLSClientConfig = r.endpointTLS()
	t.client = &http.Client{Timeout: tokenTimeout, Transport: transport}
	r.tokens = t
	return oauth.Oauth(t.auth)
}

// endpointTLS trusts what the system does, and what the brokers' truststore has beside.
func (r *propertyReader) endpointTLS() *tls.Config {
	trust := r.pem(optProperties, "ssl.truststore.location", r.security.trustFile, r.security.trust)
	if trust == "" {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM([]byte(trust))
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

// auth returns what a connection authenticates with.
func (t *tokens) auth(ctx context.Context) (oauth.Auth, error) {
	token, err := t.token(ctx)
	return oauth.Auth{Token: token, Extensions: t.extensions}, err
}

func (t *tokens) token(ctx context.Context) (string, error) {
	if t.endpoint == nil {
		return t.static, nil
	}
	if t.endpoint.Scheme == "file" { // whoever writes it renews it
		b, err := os.ReadFile(t.endpoint.Path)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrToken, err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cached != "" && t.now().Before(t.until) {
		return t.cached, nil
	}
	token, life, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	t.cached, t.until = token, t.now().Add(life*4/5)
	return token, nil
}

// fetch asks the endpoint, as RFC 6749 has it in 4.4. No error has a secret in it.
func (t *tokens) fetch(ctx context.Context) (token string, life time.Duration, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if t.scope != "" {
		form.Set("scope", t.scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrToken, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(url.QueryEscape(t.id), url.QueryEscape(t.secret))
	resp, err := t.client.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", ErrToken, err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token   string  `json:"access_token"`
		Life    float64 `json:"expires_in"`
		Problem string  `json:"error"`
		Details string  `json:"error_description"`
	}
	decodeErr := json.NewDecoder(io.LimitReader(resp.Body, maxToken)).Decode(&answer)
	switch {
	case resp.StatusCode != http.StatusOK:
		return "", 0, fmt.Errorf("%w: %s answers %s: %s %s (check clientId, clientSecret and scope)", ErrToken, t.endpoint.Redacted(), resp.Status, answer.Problem, answer.Details)
	case decodeErr != nil || answer.Token == "":
		return "", 0, fmt.Errorf("%w: the answer of %s has no access_token", ErrToken, t.endpoint.Redacted())
	}
	return answer.Token, time.Duration(answer.Life * float64(time.Second)), nil
}
