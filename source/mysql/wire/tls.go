package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSMode says how much encryption is asked for, with MySQL's names.
type TLSMode string

// The modes. Preferred falls back to plain text only where the server has no TLS.
const (
	TLSDisabled       TLSMode = "disabled"
	TLSPreferred      TLSMode = "preferred"
	TLSRequired       TLSMode = "required"
	TLSVerifyCA       TLSMode = "verify_ca"
	TLSVerifyIdentity TLSMode = "verify_identity"
)

// TLSConfig is the encryption of a connection. Files are PEM.
type TLSConfig struct {
	// Mode is preferred when empty.
	Mode TLSMode
	// CA holds the certificates of the authorities; without it the system's are used.
	CA string
	// Cert and Key are the client's certificate and its key.
	Cert, Key string
}

// Load reads the files, so that a wrong one is noticed before connecting.
func (t TLSConfig) Load() error {
	_, err := t.client("")
	return err
}

// client returns the configuration for a server called host, nil without encryption.
func (t TLSConfig) client(host string) (*tls.Config, error) {
	if t.Mode == TLSDisabled {
		return nil, nil
	}
	// The checks are ours: MySQL's own certificates carry no names, and verify_ca does not look at them.
	cfg := &tls.Config{ServerName: host, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, CipherSuites: suites()}
	if t.Mode == TLSVerifyCA || t.Mode == TLSVerifyIdentity {
		roots, err := t.roots()
		if err != nil {
			return nil, err
		}
		identity := t.Mode == TLSVerifyIdentity
		cfg.VerifyConnection = func(s tls.ConnectionState) error { return verify(s, roots, host, identity) }
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("%w: the client's certificate: %w", ErrTLS, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// suites are Go's, and behind them those without forward secrecy: builds of MySQL
// with wolfSSL or an old OpenSSL know no others, and plain text is worse.
func suites() []uint16 {
	var out []uint16
	for _, s := range tls.CipherSuites() {
		out = append(out, s.ID)
	}
	return append(out, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_256_CBC_SHA, tls.TLS_RSA_WITH_AES_128_CBC_SHA)
}

func (t TLSConfig) roots() (*x509.CertPool, error) {
	if t.CA == "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("%w: the system's certificates: %w", ErrTLS, err)
		}
		return roots, nil
	}
	text, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%w: %s holds no certificate", ErrTLS, t.CA)
	}
	return roots, nil
}

// verify checks the chain, and the name where identity is set: the alternative
// names, or the common name of a certificate that has none, as MySQL's client does.
func verify(s tls.ConnectionState, roots *x509.CertPool, host string, identity bool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server showed no certificate")
	}
	cert := s.PeerCertificates[0]
	inter := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		inter.AddCert(c)
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter}); err != nil {
		return err
	}
	named := len(cert.DNSNames) > 0 || len(cert.IPAddresses) > 0
	if !identity || !named && cert.Subject.CommonName == host {
		return nil
	}
	return cert.VerifyHostname(host)
}
