package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

var build struct {
	once sync.Once
	path string
	err  error
}

// Build compiles cmd/freshet, once in this process, and returns the path of the
// binary. FRESHET_BINARY names one that is there already.
func Build(ctx context.Context) (string, error) {
	build.once.Do(func() {
		if build.path = os.Getenv("FRESHET_BINARY"); build.path != "" {
			return
		}
		root, err := servers.Root()
		if err != nil {
			build.err = err
			return
		}
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		// Its own name for each builder: another test binary may be running the old one.
		build.path = filepath.Join(dir, "freshet-e2e", fmt.Sprintf("freshet-%d", os.Getpid()))
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", build.path, "./cmd/freshet")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			build.err = fmt.Errorf("process: go build ./cmd/freshet: %w\n%s", err, out)
		}
	})
	return build.path, build.err
}

// RemoveBuilt removes the binary that Build made.
func RemoveBuilt() {
	if build.path != "" && os.Getenv("FRESHET_BINARY") == "" {
		os.Remove(build.path)
	}
}

// Process is a running freshet.
type Process struct {
	cmd    *exec.Cmd
	output *os.File
	start  time.Time
	done   chan struct{}
	result Result
}

// Result is how a process ended and what it used.
type Result struct {
	// Code is the exit code, -1 when a signal ended it.
	Code int
	// Signal is the signal that ended it, 0 for none.
	Signal syscall.Signal
	// Wall is the time from start to exit, CPU user and system time together.
	Wall, CPU time.Duration
	// PeakBytes is the largest resident size.
	PeakBytes int64
	// Output is what it printed, standard output and error as they came.
	Output string
}

// Start starts the binary; env is added to our own environment. The caller waits for it.
func Start(binary string, args []string, env ...string) (*Process, error) {
	output, err := os.CreateTemp("", "freshet-e2e-*.log")
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(binary, args...), output: output, start: time.Now(), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = output, output
	// Whatever ends us must not leave it behind.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		output.Close()
		os.Remove(output.Name())
		return nil, fmt.Errorf("process: %w", err)
	}
	go p.reap()
	return p, nil
}

// Run starts the binary and waits for it; when ctx ends first, it is killed.
func Run(ctx context.Context, binary string, args []string, env ...string) (Result, error) {
	p, err := Start(binary, args, env...)
	if err != nil {
		return Result{}, err
	}
	select {
	case <-p.Done():
		return p.Wait(), nil
	case <-ctx.Done():
		p.Kill()
		r := p.Wait()
		return r, fmt.Errorf("process: %v did not end in time: %w\n%s", args, ctx.Err(), r.Tail(30))
	}
}

func (p *Process) reap() {
	p.cmd.Wait()
	state := p.cmd.ProcessState
	p.result = Result{Code: state.ExitCode(), Wall: time.Since(p.start), CPU: state.UserTime() + state.SystemTime()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.result.Signal = status.Signal()
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		p.result.PeakBytes = usage.Maxrss * 1024 // Linux counts in KiB
	}
	p.result.Output = p.Output()
	p.output.Close()
	os.Remove(p.output.Name())
	close(p.done)
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end.
func (p *Process) Wait() Result {
	<-p.done
	return p.result
}

// Kill sends SIGKILL, Stop SIGTERM; neither waits.
func (p *Process) Kill() { p.cmd.Process.Kill() }

// Stop sends SIGTERM.
func (p *Process) Stop() { p.cmd.Process.Signal(syscall.SIGTERM) }

// Signal sends another signal, for instance SIGSTOP.
func (p *Process) Signal(s syscall.Signal) { p.cmd.Process.Signal(s) }

// Output returns what the process has printed so far.
func (p *Process) Output() string {
	data, _ := os.ReadFile(p.output.Name())
	return string(data)
}

// Tail returns the last lines of the output.
func (r Result) Tail(lines int) string {
	all := bytes.Split(bytes.TrimSpace([]byte(r.Output)), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
