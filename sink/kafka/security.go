package kafka

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// security is what the properties say of encryption and authentication.
type security struct {
	protocol, mechanism, jaas string
	trustFile, trust          string
	keyFile, chain, key       string
	// Of OAUTHBEARER.
	endpoint, clientID, clientSecret, scope string
	anyName                                 bool // ssl.endpoint.identification.algorithm is empty
}

// securityProperties are the properties of encryption and authentication.
func securityProperties() map[string]property {
	text := func(field func(s *security) *string) property {
		return func(r *propertyReader, _, v string) { *field(&r.security) = v }
	}
	store := func(r *propertyReader, key, v string) {
		if v != "PEM" {
			r.fail(key, fmt.Sprintf("stores of type %q can't be read", v), hintPEM)
		}
	}
	password := func(r *propertyReader, key, _ string) {
		r.fail(key, "stores and keys with a password can't be read", hintPEM)
	}
	return map[string]property{
		"security.protocol":                                 text(func(s *security) *string { return &s.protocol }),
		"sasl.mechanism":                                    text(func(s *security) *string { return &s.mechanism }),
		"sasl.jaas.config":                                  text(func(s *security) *string { return &s.jaas }),
		"ssl.truststore.location":                           text(func(s *security) *string { return &s.trustFile }),
		"ssl.truststore.certificates":                       text(func(s *security) *string { return &s.trust }),
		"ssl.truststore.type":                               store,
		"ssl.truststore.password":                           password,
		"ssl.keystore.password":                             password,
		"ssl.key.password":                                  password,
		"sasl.oauthbearer.token.endpoint.url":               text(func(s *security) *string { return &s.endpoint }),
		"sasl.oauthbearer.scope":                            text(func(s *security) *string { return &s.scope }),
		"sasl.oauthbearer.client.credentials.client.id":     text(func(s *security) *string { return &s.clientID }),
		"sasl.oauthbearer.client.credentials.client.secret": text(func(s *security) *string { return &s.clientSecret }),
		"sasl.login.callback.handler.class":                 noEffect("tokens are fetched as sasl.oauthbearer.token.endpoint.url says"),
		"ssl.keystore.location":                             text(func(s *security) *string { return &s.keyFile }),
		"ssl.keystore.certificate.chain":                    text(func(s *security) *string { return &s.chain }),
		"ssl.keystore.key":                                  text(func(s *security) *string { return &s.key }),
		"ssl.keystore.type":                                 store,
		"ssl.endpoint.identification.algorithm":             func(r *propertyReader, key, v string) { r.identification(key, v) },
	}
}

func (r *propertyReader) identification(key, value string) {
	if value != "" && !strings.EqualFold(value, "https") {
		r.fail(key, fmt.Sprintf("%q is unknown", value), "there is https, and nothing for none")
	}
	r.security.anyName = value == ""
}

// secure makes options of what the properties say.
func (r *propertyReader) secure() {
	s := &r.security
	protocol := strings.ToUpper(s.protocol)
	protocols := map[string][2]bool{"": {}, "PLAINTEXT": {}, "SSL": {true, false}, "SASL_PLAINTEXT": {false, true}, "SASL_SSL": {true, true}}
	use, ok := protocols[protocol]
	if !ok {
		r.fail(optProperties+"security.protocol", fmt.Sprintf("%q is unknown", s.protocol), "there is "+strings.Join(slices.Sorted(maps.Keys(protocols))[1:], ", "))
		return
	}
	encrypted, authenticated := use[0], use[1]
	oauthbearer := security{endpoint: s.endpoint, clientID: s.clientID, clientSecret: s.clientSecret, scope: s.scope}
	if !authenticated && (s.mechanism != "" || s.jaas != "" || oauthbearer != (security{})) {
		r.fail(optProperties+"security.protocol", "it is without authentication, but there are properties of SASL", "set SASL_SSL or SASL_PLAINTEXT")
	}
	rest := oauthbearer
	rest.protocol, rest.mechanism, rest.jaas = s.protocol, s.mechanism, s.jaas
	if !encrypted && *s != rest {
		r.fail(optProperties+"security.protocol", "it is without encryption, but there are properties of SSL", "set SSL or SASL_SSL")
	}
	if r.err == nil && encrypted {
		if cfg := r.tls(optProperties, s); cfg != nil {
			r.common(kgo.DialTLSConfig(cfg))
		}
	}
	if r.err == nil && authenticated {
		if m := r.sasl(); m != nil {
			r.common(kgo.SASL(m))
		}
	}
}

// jaasPair is one option of a login module, in quotes or not.
var jaasPair = regexp.MustCompile(`(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))`)

// sasl returns the mechanism with its user and password.
func (r *propertyReader) sasl() sasl.Mechanism {
	found := map[string]string{}
	for _, m := range jaasPair.FindAllStringSubmatch(r.security.jaas, -1) {
		found[m[1]] = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[2]) + m[3]
	}
	if r.security.mechanism == "OAUTHBEARER" {
		return r.oauth(found)
	}
	user, password := found["username"], found["password"]
	mechanisms := map[string]sasl.Mechanism{
		"PLAIN":         plain.Auth{User: user, Pass: password}.AsMechanism(),
		"SCRAM-SHA-256": scram.Auth{User: user, Pass: password}.AsSha256Mechanism(),
		"SCRAM-SHA-512": scram.Auth{User: user, Pass: password}.AsSha512Mechanism(),
	}
	m := mechanisms[r.security.mechanism]
	switch {
	case m == nil:
		r.fail(optProperties+"sasl.mechanism", fmt.Sprintf("%q is unknown", r.security.mechanism), "there is OAUTHBEARER, "+strings.Join(slices.Sorted(maps.Keys(mechanisms)), ", "))
	case user == "" || password == "":
		r.fail(optProperties+"sasl.jaas.config", "it has no username or no password", `for instance org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`)
	}
	return m
}

// hintPEM says how a store becomes PEM.
const hintPEM = "keytool -importkeystore -deststoretype PKCS12 and then openssl pkcs12 -nodes make PEM of it"

// tls returns the configuration of encryption; prefix begins the options' names.
func (r *optionReader) tls(prefix string, s *security) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if trust := r.pem(prefix, "ssl.truststore.location", s.trustFile, s.trust); trust != "" {
		if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM([]byte(trust)) {
			r.fail(prefix+"ssl.truststore.location", "it has no certificate", "it must be PEM")
		}
	}
	chain := r.pem(prefix, "ssl.keystore.location", s.keyFile, s.chain)
	key := s.key
	if s.keyFile != "" {
		key = chain // the file holds both
	}
	if chain != "" && r.err == nil {
		pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
		if err != nil {
			r.fail(prefix+"ssl.keystore.location", fmt.Sprintf("the certificate and its key can't be read: %v", err), "PEM, and the key without a password")
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	if s.anyName {
		anyName(cfg)
	}
	return cfg
}

// anyName lets a server have a certificate for another name; it must still be trusted.
func anyName(cfg *tls.Config) {
	roots := cfg.RootCAs
	cfg.InsecureSkipVerify = true // what is left of it stands below
	cfg.VerifyConnection = func(cs tls.ConnectionState) error {
		opts := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range cs.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		_, err := cs.PeerCertificates[0].Verify(opts)
		return err
	}
}

// pem returns the text of a file, or what stands in an option. A keystore of Java's is
// refused.
func (r *optionReader) pem(prefix, name, file, text string) string {
	if file == "" {
		return text
	}
	b, err := os.ReadFile(file)
	switch {
	case err != nil:
		r.fail(prefix+name, err.Error(), "")
	case bytes.HasPrefix(b, []byte{0xfe, 0xed, 0xfe, 0xed}):
		r.fail(prefix+name, fmt.Sprintf("%s is a JKS store, which can't be read", file), hintPEM)
	case len(b) > 0 && b[0] == 0x30: // a sequence of ASN.1
		r.fail(prefix+name, fmt.Sprintf("%s is a PKCS12 store or DER, which can't be read", file), hintPEM)
	}
	return string(b)
}
