// Package servers starts and stops the real servers of the e2e tests, through
// the shell scripts that lie beside it. Each instance is a server of its own,
// with its own port and data folder, bound to 127.0.0.1.
//
//	pg, err := servers.StartPostgres(ctx, "15", "crash", "max_wal_size=4GB")
//	...
//	defer pg.Wipe()
package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Server is one instance of a server script.
type Server struct {
	// URL is where clients connect, as the script prints it.
	URL string

	script, instance string
	env              []string
}

// StartPostgres starts an instance of PostgreSQL; version is 14 to 18. Each
// setting is "name=value" for the server's command line.
func StartPostgres(ctx context.Context, version, instance string, settings ...string) (*Server, error) {
	return start(ctx, "postgres"+version+".sh", instance, "PG_SETTINGS="+strings.Join(settings, " "))
}

// StartMySQL starts an instance of MySQL or MariaDB; version is mysql97, mysql80,
// mariadb1011 or mariadb118. Each setting is "name=value" for the server's command line.
func StartMySQL(ctx context.Context, version, instance string, settings ...string) (*Server, error) {
	return start(ctx, version+".sh", instance, "MYSQL_SETTINGS="+strings.Join(settings, " "))
}

// MySQLPrograms installs a version of MySQL or MariaDB and returns the folder of its
// client programs; mysql80 has none.
func MySQLPrograms(ctx context.Context, version string) (string, error) {
	return script(ctx, nil, version+".sh", "bin")
}

// StartKafka starts a Kafka broker of its own; URL is its address, host:port. Each
// setting is "name=value" for the broker.
func StartKafka(ctx context.Context, instance string, settings ...string) (*Server, error) {
	return start(ctx, "kafka.sh", instance, "KAFKA_SETTINGS="+strings.Join(settings, " "))
}

// StartKafkaFormatted is StartKafka for a broker whose data folder is made with options
// of Kafka's StorageTool, for instance "--feature transaction.version=1".
func StartKafkaFormatted(ctx context.Context, instance, options string, settings ...string) (*Server, error) {
	return start(ctx, "kafka.sh", instance, "KAFKA_SETTINGS="+strings.Join(settings, " "), "KAFKA_FORMAT="+options)
}

// KafkaPrograms installs Kafka and returns the folder of its command line tools.
func KafkaPrograms(ctx context.Context) (string, error) {
	return script(ctx, nil, "kafka.sh", "bin")
}

// StartToxiproxy starts a toxiproxy; URL is that of its API.
func StartToxiproxy(ctx context.Context, instance string) (*Server, error) {
	return start(ctx, "toxiproxy.sh", instance)
}

// ReadersPython installs the independent readers, once, and returns the Python that has them.
func ReadersPython(ctx context.Context) (string, error) {
	if python := os.Getenv("FRESHET_READERS_PYTHON"); python != "" {
		return python, nil
	}
	return script(ctx, nil, "readers.sh", "python")
}

// Root returns the root folder of the module, above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("servers: no go.mod above the working directory: run it inside the repository")
		}
		dir = parent
	}
}

// Start starts the instance again, after Stop or Kill, on the same data and port.
func (s *Server) Start(ctx context.Context) error {
	_, err := script(ctx, s.env, s.script, "start", s.instance)
	return err
}

// Stop ends the server in its orderly way, for PostgreSQL the fast shutdown.
func (s *Server) Stop(ctx context.Context) error {
	_, err := script(ctx, s.env, s.script, "stop", s.instance)
	return err
}

// Kill ends the server and its children with SIGKILL.
func (s *Server) Kill(ctx context.Context) error {
	_, err := script(ctx, s.env, s.script, "kill9", s.instance)
	return err
}

// Wipe kills the server and removes its data.
func (s *Server) Wipe() error {
	_, err := script(context.Background(), s.env, s.script, "wipe", s.instance)
	return err
}

// PID returns the process id of the server.
func (s *Server) PID(ctx context.Context) (int, error) {
	out, err := script(ctx, s.env, s.script, "pid", s.instance)
	if err != nil {
		return 0, err
	}
	var pid int
	_, err = fmt.Sscan(out, &pid)
	return pid, err
}

func start(ctx context.Context, name, instance string, env ...string) (*Server, error) {
	url, err := script(ctx, env, name, "start", instance)
	if err != nil {
		return nil, err
	}
	return &Server{URL: url, script: name, instance: instance, env: env}, nil
}

// script runs a server script and returns what it printed.
func script(ctx context.Context, env []string, name string, args ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "bash", append([]string{filepath.Join(root, "e2e", "servers", name)}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	// The server that the script leaves behind must not hold our pipes open, so
	// standard error goes to a file.
	stderr, err := os.CreateTemp("", "freshet-server-*.err")
	if err != nil {
		return "", err
	}
	defer os.Remove(stderr.Name())
	defer stderr.Close()
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(stderr.Name())
		return "", fmt.Errorf("servers: %s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(text))
	}
	return strings.TrimSpace(stdout.String()), nil
}
