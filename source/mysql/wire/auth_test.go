package wire

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const secret = "s3cret-Never-Shown"

var seed = []byte("abcdefghijklmnopqrst")

func TestFullAuthentication(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKIXPublicKey(&key.PublicKey)
	public := append([]byte{1}, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)

	// Over TLS the password goes as it is.
	a := &authenticator{password: secret, private: true, plugin: pluginCachingSHA2, seed: seed}
	if first, err := a.first(); err != nil || len(first) != 32 {
		t.Fatal(first, err)
	}
	if answer, done, err := a.next([]byte{1, 4}); err != nil || done || string(answer) != secret+"\x00" {
		t.Fatalf("%q %v %v", answer, done, err)
	}
	if _, done, err := a.next([]byte{0}); !done || err != nil {
		t.Fatal(done, err)
	}
	// Without it, the server's key is asked for.
	for _, plugin := range []string{pluginCachingSHA2, pluginSHA256} {
		a = &authenticator{password: secret, plugin: plugin, seed: seed}
		first, err := a.first()
		if err != nil {
			t.Fatal(err)
		}
		if plugin == pluginCachingSHA2 {
			if first, _, err = a.next([]byte{1, 4}); err != nil || !bytes.Equal(first, []byte{2}) {
				t.Fatal(first, err)
			}
		} else if !bytes.Equal(first, []byte{1}) {
			t.Fatal(first)
		}
		answer, _, err := a.next(public)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := rsa.DecryptOAEP(sha1.New(), nil, key, answer, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range plain {
			plain[i] ^= seed[i%len(seed)]
		}
		if string(plain) != secret+"\x00" {
			t.Errorf("%s: %q", plugin, plain)
		}
	}
}

func TestAuthSwitch(t *testing.T) {
	a := &authenticator{password: secret, plugin: pluginCachingSHA2, seed: seed}
	answer, done, err := a.next(append([]byte{0xfe}, pluginEd25519+"\x0012345678901234567890123456789012"...))
	if err != nil || done || len(answer) != 64 {
		t.Fatal(len(answer), done, err)
	}
	// Nothing stands behind the 32 bytes of MariaDB's seeds, the last of which may be zero.
	for _, plugin := range []string{pluginEd25519, pluginParsec} {
		full := append(bytes.Repeat([]byte{7}, 31), 0)
		_, _, err := a.next(append([]byte("\xfe"+plugin+"\x00"), full...))
		if err != nil || !bytes.Equal(a.seed, full) {
			t.Errorf("%s: seed %x, %v", plugin, a.seed, err)
		}
	}
	if _, _, err := a.next([]byte("\xfe" + pluginNative + "\x00abcdefghijklmnopqrst\x00")); err != nil || len(a.seed) != 20 {
		t.Errorf("%s: seed %x, %v", pluginNative, a.seed, err)
	}
	// An empty password answers with an empty packet, not with silence.
	a = &authenticator{plugin: pluginCachingSHA2, seed: seed}
	if answer, _, err := a.next(append([]byte{0xfe}, pluginNative+"\x00abcdefghijklmnopqrst\x00"...)); err != nil || answer == nil || len(answer) != 0 {
		t.Fatal(answer, err)
	}
}

func TestPasswordIsNotGivenAway(t *testing.T) {
	a := &authenticator{password: secret, plugin: pluginNative, seed: seed}
	for _, packet := range []string{"\xfe" + pluginClear + "\x00", "\xfedialog\x00", "\xfe", "\x01\x04", "\x07", "", "\x01garbage"} {
		answer, _, err := a.next([]byte(packet))
		if err == nil || answer != nil {
			t.Errorf("%q: answer %q, %v", packet, answer, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q shows the password", packet)
		}
	}
	if _, _, err := a.next([]byte("\xfe" + pluginClear + "\x00")); !errors.Is(err, ErrAuth) {
		t.Error(err)
	}
	cfg := Config{Host: "h", User: "u", Password: secret}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, cfg); strings.Contains(text, secret) {
			t.Errorf("%s shows the password: %s", format, text)
		}
	}
}

func TestAuthKeyErrors(t *testing.T) {
	for _, key := range []string{"", "no pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		a := &authenticator{password: secret, plugin: pluginSHA256, seed: seed, keySent: true}
		if _, _, err := a.next(append([]byte{1}, key...)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
