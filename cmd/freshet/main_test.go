package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/cmd/freshet/signals"
	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/stream"
)

// TestMain lets the test binary stand for freshet in tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("FRESHET_TEST_CRASH") != "" {
		reached, err := pipeline.CrashPoint(os.Getenv(pipeline.CrashVariable))
		if err != nil {
			os.Exit(exitUsage)
		}
		for range 3 {
			fmt.Println("before")
			reached("a.point")
		}
		os.Exit(0)
	}
	if os.Getenv("FRESHET_TEST_MAIN") != "" {
		main()
	}
	signals.Release() // Ctrl-C ends tests
	os.Exit(m.Run())
}

func freshet(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

// TestCommands: command lines and what they print.
func TestCommands(t *testing.T) {
	datadriven.RunTest(t, "testdata/commands", func(t *testing.T, td *datadriven.TestData) string {
		var args []string
		for _, arg := range td.CmdArgs {
			text := arg.Key
			if len(arg.Vals) > 0 {
				text += "=" + strings.Join(arg.Vals, ",")
			}
			args = append(args, text)
		}
		if td.Input != "" {
			file := filepath.Join(t.TempDir(), "shop.yaml")
			if err := os.WriteFile(file, []byte(td.Input), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
		code, stdout, stderr := freshet(args...)
		text := stdout + stderr
		if td.Input != "" {
			text = strings.ReplaceAll(text, filepath.Dir(args[len(args)-1])+"/", "")
		}
		return fmt.Sprintf("%sexit %d\n", text, code)
	})
}

// TestHelp: every command has a help with examples.
func TestHelp(t *testing.T) {
	for _, command := range []string{"run", "validate", "plan", "verify", "version"} {
		code, stdout, stderr := freshet(command, "--help")
		if code != 0 || stderr != "" || !strings.Contains(stdout, "Examples:") || !strings.Contains(stdout, "freshet "+command) {
			t.Errorf("%s --help: exit %d\n%s%s", command, code, stdout, stderr)
		}
		for _, line := range strings.Split(stdout, "\n") {
			if len(line) > 120 {
				t.Errorf("%s --help: a line of %d characters: %s", command, len(line), line)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if code, stdout, _ := freshet("version"); code != 0 || !strings.HasPrefix(stdout, "freshet ") || strings.Count(stdout, "\n") != 1 {
		t.Errorf("exit %d: %q", code, stdout)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("boom"), 1},
		{usageError{errors.New("x")}, 2},
		{document.Problems{{Msg: "x"}}, 2},
		{redactedError{fmt.Errorf("wrapped: %w", &pipeline.CheckError{Errs: []error{errors.New("x")}}), "x"}, 3},
		{errDifferent, 4},
		{fmt.Errorf("acquire: %w", checkpoint.ErrLocked), 5},
		{fmt.Errorf("%w: x", checkpoint.ErrForeign), 5},
		{fmt.Errorf("%w: x", stream.ErrUnreadable), 5},
		{errAbrupt, 130},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// TestCrashPoint: the process kills itself at the n-th time.
func TestCrashPoint(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FRESHET_TEST_CRASH=1", pipeline.CrashVariable+"=a.point:2")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v", err)
	}
	if got := strings.Count(string(out), "before"); got != 2 {
		t.Errorf("the point was reached %d times", got)
	}
	for _, bad := range []string{"a:0", "a:x"} {
		if _, err := pipeline.CrashPoint(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
