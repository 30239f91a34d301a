package mysqltest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PrivateServer is a server of one test, which may kill, reset and purge it.
type PrivateServer struct {
	*Server
	script, instance string
	settings         string
	t                testing.TB
}

// Private starts a server of the test's own through e2e/servers; name is that of
// Server.Name, each setting "name=value" for its command line. The end of the test
// wipes it. Without FRESHET_E2E=1 the test is skipped.
func Private(t testing.TB, name string, settings ...string) *PrivateServer {
	t.Helper()
	if os.Getenv("FRESHET_E2E") == "" {
		t.Skipf("a %s of the test's own is started by e2e/servers alone: bash e2e/run.sh, or set FRESHET_E2E=1", name)
	}
	p := &PrivateServer{
		script: filepath.Join(root(t), "e2e", "servers", strings.ToLower(name)+".sh"), instance: unique(t),
		settings: strings.Join(settings, " "), t: t,
	}
	t.Cleanup(func() { p.run("wipe") })
	p.Server = parse(t, name, p.run("start"))
	return p
}

// Start starts the server again, on the same data and port.
func (p *PrivateServer) Start() { p.t.Helper(); p.run("start") }

// Restart stops the server in good order and starts it with other settings,
// which replace those given before.
func (p *PrivateServer) Restart(settings ...string) {
	p.t.Helper()
	p.run("stop")
	p.settings = strings.Join(settings, " ")
	p.run("start")
}

// Stop ends the server in good order.
func (p *PrivateServer) Stop() { p.t.Helper(); p.run("stop") }

// Kill ends the server with SIGKILL.
func (p *PrivateServer) Kill() { p.t.Helper(); p.run("kill9") }

// Log returns the path of the server's log.
func (p *PrivateServer) Log() string { p.t.Helper(); return p.run("log") }

// run runs the server's script and returns what it printed.
func (p *PrivateServer) run(verb string) string {
	p.t.Helper()
	cmd := exec.Command("bash", p.script, verb, p.instance)
	cmd.Env = append(os.Environ(), "MYSQL_SETTINGS="+p.settings)
	// The server that the script leaves behind must not hold our pipes open, so
	// standard error goes to a file.
	stderr, err := os.CreateTemp("", "mysqltest-*.err")
	if err != nil {
		p.t.Fatal(err)
	}
	defer os.Remove(stderr.Name())
	defer stderr.Close()
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(stderr.Name())
		p.t.Fatalf("%s %s: %v: %s", filepath.Base(p.script), verb, err, bytes.TrimSpace(text))
	}
	return strings.TrimSpace(stdout.String())
}

// root returns the root folder of the module, above the working directory.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			err = fmt.Errorf("no go.mod above the working directory")
		}
		dir = parent
	}
	t.Fatal(err)
	return ""
}
