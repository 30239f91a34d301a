package wire

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// Flavor is the kind of server.
type Flavor string

// The flavors. Percona Server is MySQL.
const (
	MySQL   Flavor = "mysql"
	MariaDB Flavor = "mariadb"
)

// Config says where the server is and who logs in.
type Config struct {
	// Host and Port are the server's address; Socket, when set, is the path of its
	// Unix socket and goes first.
	Host   string
	Port   int
	Socket string
	User   string
	// Password is never printed.
	Password string
	TLS      TLSConfig
	// Timeout limits one attempt to connect and log in. 0 means 30 s.
	Timeout time.Duration
	// Retries counts further attempts when the server can't be reached.
	Retries int
}

func (c Config) timeout() time.Duration {
	if c.Timeout <= 0 {
		return 30 * time.Second
	}
	return c.Timeout
}

func (c Config) network() (network, address string) {
	if c.Socket != "" {
		return "unix", c.Socket
	}
	port := c.Port
	if port == 0 {
		port = 3306
	}
	return "tcp", net.JoinHostPort(c.Host, strconv.Itoa(port))
}

// String names server and user, without the password.
func (c Config) String() string {
	_, address := c.network()
	return fmt.Sprintf("%s, user %q", address, c.User)
}

// GoString is String: %#v must not show the password either.
func (c Config) GoString() string { return c.String() }
