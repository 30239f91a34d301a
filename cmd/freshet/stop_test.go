package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// silent listens on a port and never answers: a run stays in its checks.
func silent(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// pipelineFile writes a pipeline document whose source is at the port.
func pipelineFile(t *testing.T, port int) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.yaml")
	text := fmt.Sprintf("source: {type: postgres, hostname: 127.0.0.1, port: %d, username: u, password: p, sslmode: disable, tables: 'shop.public.\\.*', slot.name: s}\n"+
		"sink: {type: iceberg, catalog.properties.type: sql, 'catalog.properties.uri': 'sqlite://%[2]s/c.db', catalog.properties.warehouse: 'file://%[2]s/w'}\n"+
		"pipeline: {metrics.address: off}\n", port, dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// freshetProcess starts this binary as freshet.
func freshetProcess(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, out := exec.Command(os.Args[0], args...), &bytes.Buffer{}
	cmd.Env = append(os.Environ(), "FRESHET_TEST_MAIN=1")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, out
}

// begun says whether a process that a signal ended had done more than the Go
// runtime's first steps, by the CPU that it used.
func begun(state *os.ProcessState) bool {
	return state.UserTime()+state.SystemTime() > 40*time.Millisecond
}

// TestEarlyStop: SIGTERM at any time, however early, is answered with exit code 0.
func TestEarlyStop(t *testing.T) {
	file, early := pipelineFile(t, silent(t)), 0
	for i := range 40 {
		cmd, out := freshetProcess(t, "run", file)
		delay := time.Duration(rand.Int64N(int64(400 * time.Millisecond)))
		if i%4 == 0 {
			delay /= 20
		}
		time.Sleep(delay)
		cmd.Process.Signal(syscall.SIGTERM)
		err := cmd.Wait()
		var exit *exec.ExitError
		switch {
		case err == nil:
		case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() && !begun(cmd.ProcessState):
			early++
		default:
			t.Errorf("SIGTERM after %s: %v (%s of CPU)\n%s", delay, err, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), out)
		}
	}
	t.Logf("%d of 40 ended before Go was up", early)
	if early > 20 {
		t.Errorf("the signal is caught too late: %d of 40 processes were killed by it", early)
	}
}

// TestSecondSignal: what hangs is ended by a second signal.
func TestSecondSignal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fifo.yaml")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, _ := freshetProcess(t, "run", file) // reads until somebody writes
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for n := 0; ; n++ {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if n < 3 || !errors.As(err, &exit) || exit.ExitCode() != exitAbrupt {
				t.Errorf("after %d signals: %v", n, err)
			}
			return
		case <-time.After(300 * time.Millisecond):
			if n > 20 {
				t.Fatal("it does not end")
			}
			cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}

// TestOtherCommandsEnd: a signal ends commands that have nothing to lose.
func TestOtherCommandsEnd(t *testing.T) {
	file := pipelineFile(t, silent(t))
	for _, delay := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 800 * time.Millisecond} {
		cmd, out := freshetProcess(t, "validate", "--connect", file)
		time.Sleep(delay)
		started := time.Now()
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err == nil || time.Since(started) > 5*time.Second {
			t.Errorf("after %s: %v, %s later\n%s", delay, err, time.Since(started), out)
		}
	}
}
