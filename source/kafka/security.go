package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// securityProperties are the properties of encryption and authentication.
var securityProperties = []string{"security.protocol", "sasl.mechanism", "sasl.jaas.config", "ssl.truststore.location", "ssl.truststore.certificates",
	"ssl.truststore.type", "ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.type"}

func (r *optionReader) property(name string) string { return r.opts[optProperties+name] }

// secure makes options of what the properties say of encryption and authentication.
func (r *optionReader) secure() (out []kgo.Opt) {
	var encrypted, authenticated bool
	switch protocol := strings.ToUpper(r.property("security.protocol")); protocol {
	case "", "PLAINTEXT":
	case "SSL":
		encrypted = true
	case "SASL_PLAINTEXT":
		authenticated = true
	case "SASL_SSL":
		encrypted, authenticated = true, true
	default:
		r.fail(optProperties+"security.protocol", fmt.Sprintf("%q is unknown", protocol), "there is PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL")
	}
	for _, name := range securityProperties[1:] {
		_, set := r.opts[optProperties+name]
		if set && (strings.HasPrefix(name, "sasl.") && !authenticated || strings.HasPrefix(name, "ssl.") && !encrypted) {
			r.fail(optProperties+name, "security.protocol does not use it", "set it to SSL, SASL_SSL or SASL_PLAINTEXT")
		}
	}
	if r.err == nil && encrypted {
		if cfg := r.tls(); cfg != nil {
			out = append(out, kgo.DialTLSConfig(cfg))
		}
	}
	if r.err == nil && authenticated {
		if m := r.sasl(); m != nil {
			out = append(out, kgo.SASL(m))
		}
	}
	return out
}

// loginOption is one option of a login module, in quotes or not.
var loginOption = regexp.MustCompile(`(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))`)

// sasl returns the mechanism with its user and password.
func (r *optionReader) sasl() sasl.Mechanism {
	found := map[string]string{}
	for _, m := range loginOption.FindAllStringSubmatch(r.property("sasl.jaas.config"), -1) {
		found[m[1]] = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[2]) + m[3]
	}
	user, password := found["username"], found["password"]
	if user == "" || password == "" {
		r.fail(optProperties+"sasl.jaas.config", "it has no username or no password", `for instance org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`)
		return nil
	}
	switch mechanism := r.property("sasl.mechanism"); mechanism {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	default:
		r.fail(optProperties+"sasl.mechanism", fmt.Sprintf("%q is unknown", mechanism), "there is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512")
		return nil
	}
}

// tls returns the configuration of encryption; stores are PEM.
func (r *optionReader) tls() *tls.Config {
	for _, name := range []string{"ssl.truststore.type", "ssl.keystore.type"} {
		if v := r.property(name); v != "" && v != "PEM" {
			r.fail(optProperties+name, fmt.Sprintf("stores of type %q can't be read", v), "keytool and openssl make them PEM")
		}
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if trust := r.pem("ssl.truststore.location", "ssl.truststore.certificates"); trust != "" {
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM([]byte(trust)) {
			r.fail(optProperties+"ssl.truststore.location", "it has no certificate", "it must be PEM")
		}
	}
	chain, key := r.pem("ssl.keystore.location", "ssl.keystore.certificate.chain"), r.property("ssl.keystore.key")
	if key == "" {
		key = chain // a file holds both
	}
	if chain != "" && r.err == nil {
		pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
		if err != nil {
			r.fail(optProperties+"ssl.keystore.location", fmt.Sprintf("the certificate and its key can't be read: %v", err), "PEM, and the key without a password")
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg
}

// pem returns the text of a file, or what stands in a property.
func (r *optionReader) pem(file, text string) string {
	path := r.property(file)
	if path == "" {
		return r.property(text)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		r.fail(optProperties+file, err.Error(), "")
	}
	return string(b)
}
