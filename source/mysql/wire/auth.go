package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// The ways to log in, with the names of their plugins.
const (
	pluginNative      = "mysql_native_password"
	pluginCachingSHA2 = "caching_sha2_password"
	pluginSHA256      = "sha256_password"
	pluginEd25519     = "client_ed25519"
	pluginParsec      = "parsec"
	pluginClear       = "mysql_clear_password"
)

// authenticator answers the server until it lets us in. It is pure: packets in, packets out.
type authenticator struct {
	password string
	// private says that nobody can listen: TLS, or a Unix socket.
	private bool
	plugin  string
	seed    []byte
	keySent bool // the server's RSA key was asked for
}

// first returns the answer to the seed of the greeting or of an auth switch.
func (a *authenticator) first() ([]byte, error) {
	switch a.plugin {
	case pluginNative:
		return mysql.CalcNativePassword(a.seed, []byte(a.password)), nil
	case pluginCachingSHA2:
		return mysql.CalcCachingSha2Password(a.seed, []byte(a.password)), nil
	case pluginSHA256:
		switch {
		case a.password == "":
			return []byte{0}, nil
		case a.private:
			return append([]byte(a.password), 0), nil
		}
		a.keySent = true
		return []byte{1}, nil // the server's RSA key, please
	case pluginEd25519:
		out, err := mysql.CalcEd25519Password(a.seed, a.password)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAuth, err)
		}
		return out, nil
	case pluginParsec:
		return []byte{}, nil // the account's salt, please
	case pluginClear:
		if !a.private {
			return nil, fmt.Errorf("%w: the server wants the password in the clear (%s), which is only done over TLS", ErrAuth, a.plugin)
		}
		return append([]byte(a.password), 0), nil
	}
	return nil, fmt.Errorf("%w: the account uses %q; supported are %s, %s, %s, %s, %s and, over TLS, %s",
		ErrAuth, a.plugin, pluginCachingSHA2, pluginNative, pluginSHA256, pluginEd25519, pluginParsec, pluginClear)
}

// next takes the server's packet and returns the answer, nil where it wants none.
func (a *authenticator) next(p []byte) (answer []byte, done bool, err error) {
	if len(p) == 0 {
		return nil, false, malformed("an empty packet while logging in")
	}
	switch p[0] {
	case 0x00:
		return nil, true, nil
	case 0xff:
		return nil, false, serverError(p)
	case 0xfe:
		answer, err = a.change(p[1:])
	case 0x01:
		answer, err = a.more(p[1:])
	case 'P':
		answer, err = a.parsec(p)
	default:
		err = malformed("packet 0x%x while logging in", p[0])
	}
	return answer, false, err
}

// change begins again with the plugin that the account has.
func (a *authenticator) change(p []byte) ([]byte, error) {
	if len(p) == 0 {
		return nil, fmt.Errorf("%w: the account's password has the format of MySQL 4.0", ErrAuth)
	}
	name, seed, _ := bytes.Cut(p, []byte{0})
	a.plugin, a.seed, a.keySent = string(name), bytes.Clone(unterminated(string(name), seed)), false
	answer, err := a.first()
	if answer == nil && err == nil {
		answer = []byte{} // an empty packet is due
	}
	return answer, err
}

// unterminated takes off the zero that closes the seed of most plugins. MariaDB's own
// two send 32 bytes and nothing behind them, of which the last may be zero too.
func unterminated(plugin string, seed []byte) []byte {
	if (plugin == pluginEd25519 || plugin == pluginParsec) && len(seed) <= 32 {
		return seed
	}
	return bytes.TrimSuffix(seed, []byte{0})
}

// more handles AuthMoreData.
func (a *authenticator) more(p []byte) ([]byte, error) {
	switch {
	case a.keySent:
		return a.encrypted(p)
	case a.plugin == pluginParsec:
		return a.parsec(p)
	case a.plugin != pluginCachingSHA2 || len(p) != 1:
		return nil, malformed("more data for %s", a.plugin)
	case p[0] == 3: // known from before
		return nil, nil
	case p[0] != 4:
		return nil, malformed("step %d of %s", p[0], a.plugin)
	case a.private:
		return append([]byte(a.password), 0), nil
	}
	a.keySent = true
	return []byte{2}, nil
}

// encrypted returns the password for the RSA key that the server sent.
func (a *authenticator) encrypted(key []byte) ([]byte, error) {
	block, _ := pem.Decode(key)
	if block == nil {
		return nil, malformed("no RSA key")
	}
	k, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, malformed("the RSA key: %v", err)
	}
	public, ok := k.(*rsa.PublicKey)
	if !ok || len(a.seed) == 0 {
		return nil, malformed("no RSA key")
	}
	a.keySent = false
	out, err := mysql.EncryptPassword(a.password, a.seed, public)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuth, err)
	}
	return out, nil
}

// parsec signs the server's random bytes and ours with a key that is made of the
// password and the account's salt: 'P', a factor of iterations, the salt.
// https://mariadb.com/docs/server/security/authentication-plugins/authentication-plugin-parsec
func (a *authenticator) parsec(p []byte) ([]byte, error) {
	const most = 3 // the largest factor that a server writes
	if a.plugin != pluginParsec || len(a.seed) != 32 || len(p) < 3 || p[0] != 'P' || p[1] > most {
		return nil, malformed("no salt of %s", pluginParsec)
	}
	key, err := pbkdf2.Key(sha512.New, a.password, p[2:], 1024<<p[1], ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuth, err)
	}
	ours := make([]byte, 32)
	if _, err := rand.Read(ours); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuth, err)
	}
	signed := ed25519.Sign(ed25519.NewKeyFromSeed(key), append(append([]byte{}, a.seed...), ours...))
	return append(ours, signed...), nil
}
