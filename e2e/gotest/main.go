// Command gotest runs go test with its arguments and prints what go test prints,
// except that a skipped test makes it fail: where every server has been started,
// a test that skips itself tests nothing and nobody would notice. A skip whose
// output matches the regular expression GOTEST_ALLOW_SKIP is let pass.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

// report follows the events.
type report struct {
	output  map[string][]string // lines of tests that have not ended
	skipped []string
	ran     int
}

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	r := report{output: map[string][]string{}}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Println(lines.Text()) // not from a test: a message of go itself
			continue
		}
		r.take(e)
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	for _, s := range r.skipped {
		fmt.Fprintln(os.Stderr, "gotest: skipped, which counts as a failure here:", s)
	}
	if code == 0 && len(r.skipped) > 0 {
		code = 1
	}
	if code == 0 && r.ran == 0 {
		fmt.Fprintln(os.Stderr, "gotest: no test ran")
		code = 1
	}
	return code, nil
}

// take handles one event: lines of a package are shown at once, those of a test
// only when it failed or was skipped.
func (r *report) take(e event) {
	name := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			if !strings.HasPrefix(e.Output, "PASS") {
				fmt.Print(e.Output)
			}
			return
		}
		r.output[name] = append(r.output[name], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			if e.Action == "fail" {
				r.unended(e.Package)
			}
			return
		}
		r.ran++
		if e.Action == "skip" {
			r.skip(name)
		}
		if e.Action == "fail" {
			fmt.Print(strings.Join(r.output[name], ""))
		}
		delete(r.output, name)
	}
}

// unended shows the lines of the tests of a failed package that never ended: a
// panic stands among them.
func (r *report) unended(pkg string) {
	var names []string
	for name := range r.output {
		if strings.HasPrefix(name, pkg+" ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Print(strings.Join(r.output[name], ""))
		delete(r.output, name)
	}
}

func (r *report) skip(name string) {
	r.ran--
	reason := strings.Join(strings.Fields(strings.Join(r.output[name], " ")), " ")
	if allowed := os.Getenv("GOTEST_ALLOW_SKIP"); allowed != "" && regexp.MustCompile(allowed).MatchString(reason) {
		return
	}
	r.skipped = append(r.skipped, name+": "+reason)
}
