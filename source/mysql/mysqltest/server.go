package mysqltest

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Server is where a server listens, and its account that may do everything.
type Server struct {
	// Name is MySQL97, MySQL80, MariaDB1011 or MariaDB118.
	Name    string
	MariaDB bool
	// URL is mysql://User:Password@Host:Port/.
	URL            string
	Host           string
	Port           int
	User, Password string
}

// names are all servers that tests know. A server's script is its name in lower case.
var names = []string{"MySQL97", "MySQL80", "MariaDB1011", "MariaDB118"}

// variable is where e2e/run.sh says the address of a server.
func variable(name string) string { return "FRESHET_" + strings.ToUpper(name) + "_URL" }

// Each runs fn as a subtest on each server. Servers that are not there are skipped by name.
func Each(t *testing.T, fn func(t *testing.T, s *Server)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) { fn(t, Named(t, name)) })
	}
}

// Named returns one of the servers, or skips the test.
func Named(t testing.TB, name string) *Server {
	t.Helper()
	address := os.Getenv(variable(name))
	if address == "" {
		t.Skipf("no %s: %s is not set; bash e2e/run.sh starts it", name, variable(name))
	}
	return parse(t, name, address)
}

// Servers returns the servers that are there, or skips the test when none is.
func Servers(t testing.TB) []*Server {
	t.Helper()
	var found []*Server
	for _, name := range names {
		if address := os.Getenv(variable(name)); address != "" {
			found = append(found, parse(t, name, address))
		}
	}
	if len(found) == 0 {
		t.Skipf("no MySQL and no MariaDB: none of %s and the like is set; bash e2e/run.sh starts them", variable(names[0]))
	}
	return found
}

func parse(t testing.TB, name, address string) *Server {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("%s: the server's address is not a URL", variable(name))
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatalf("%s: no port", variable(name))
	}
	password, _ := u.User.Password()
	return &Server{
		Name: name, MariaDB: strings.HasPrefix(name, "MariaDB"), URL: address,
		Host: u.Hostname(), Port: port, User: u.User.Username(), Password: password,
	}
}

// Addr is host:port.
func (s *Server) Addr() string { return fmt.Sprintf("%s:%d", s.Host, s.Port) }

// url returns the connection URL of an account and a database.
func (s *Server) url(user, password, database string) string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(user, password), Host: s.Addr(), Path: "/" + database}
	return u.String()
}
