//go:build unix

package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue writes name.crt and name.key into dir.
func (a *authority) issue(t *testing.T, dir, name string, template x509.Certificate) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := &template, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert: cert, key: key}
}

// TestTLS: the log over TLS, with the server's name verified and a client certificate.
func TestTLS(t *testing.T) {
	f := newLogFixture(t, nil, `CREATE TABLE a (id int PRIMARY KEY)`, `CREATE ROLE certified LOGIN SUPERUSER`)
	data := filepath.Join(f.server.Dir(), "data")
	owner, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	mine := t.TempDir()
	ca := (*authority)(nil).issue(t, data, "ca", x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	ca.issue(t, data, "server", x509.Certificate{Subject: pkix.Name{CommonName: "db"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	ca.issue(t, mine, "client", x509.Certificate{Subject: pkix.Name{CommonName: "certified"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	hba := "hostssl all certified 127.0.0.1/32 cert\nhostssl replication certified 127.0.0.1/32 cert\nhost all postgres 127.0.0.1/32 trust\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(hba), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := chownAll(data, owner); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"ssl": "on", "ssl_cert_file": "server.crt", "ssl_key_file": "server.key", "ssl_ca_file": "ca.crt"} {
		f.server.Set(k, v)
	}
	if err := f.server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.sql = sqlConn(t, f.server)
	opts := map[string]string{"username": "certified", "sslmode": "verify-full", "sslrootcert": filepath.Join(data, "ca.crt"), "sslcert": filepath.Join(mine, "client.crt"), "sslkey": filepath.Join(mine, "client.key")}
	f.src = newTestSource(t, f.server, opts)
	if errs := f.src.Check(t.Context()); len(errs) > 0 {
		t.Fatal(errs)
	}
	f.open(0)
	run(t, f.sql, `INSERT INTO a SELECT generate_series(1, 20000)`)
	f.follow()
	if n := strings.Count(f.text.String(), "\n"); n != 20000 {
		t.Errorf("%d rows", n)
	}
	f.close()
	opts["hostname"] = "localhost" // not in the certificate
	if errs := newTestSource(t, f.server, opts).Check(t.Context()); len(errs) != 1 || !errors.Is(errs[0], ErrConnect) || !strings.Contains(errs[0].Error(), "certificate") {
		t.Errorf("another name: %v", errs)
	}
}
