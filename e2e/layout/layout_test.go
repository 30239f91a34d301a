package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

const module = "github.com/freshet-cdc/freshet/"

// rule says what packages below a folder may import of ours.
type rule struct {
	folder  string
	allowed []string // folders; "own" stands for the package's own second level
}

// rules come from the design: data goes one way. The first that fits counts.
var rules = []rule{
	{"schema", []string{"schema"}},
	{"runtime/keygroup", nil},
	{"runtime/state", []string{"runtime/keygroup", "runtime/state"}},
	{"runtime/checkpoint", []string{"runtime/keygroup", "runtime/state", "runtime/checkpoint"}},
	{"runtime", []string{"runtime"}},
	{"source", []string{"schema", "runtime/state", "runtime/keygroup", "source/window", "own", "source."}},
	{"sink", []string{"schema", "runtime/state", "runtime/keygroup", "own", "sink."}},
	{"pipeline", []string{"schema", "runtime", "source", "sink", "pipeline"}},
	// Of the sources and sinks cmd knows the contract's types alone (a table's name,
	// its progress). The demo starts its own server and is given the pipeline that examples ships.
	{"cmd", []string{"cmd", "pipeline", "runtime", "schema", "source.", "examples", "source/postgres/pgtest"}},
	{"examples", []string{"runtime", "examples"}},
	{"e2e", []string{"e2e", "pipeline", "schema", "source", "sink", "runtime", "examples"}},
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T, root string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func below(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// may reports whether the package at path may import the one at target.
func may(path, target string) bool {
	for _, r := range rules {
		if !below(path, r.folder) {
			continue
		}
		for _, a := range r.allowed {
			switch {
			case a == "own":
				parts := strings.SplitN(path, "/", 3)
				if len(parts) > 1 && below(target, parts[0]+"/"+parts[1]) {
					return true
				}
			case strings.HasSuffix(a, "."): // the package itself, not what lies below it
				if target == strings.TrimSuffix(a, ".") {
					return true
				}
			case below(target, a):
				return true
			}
		}
		return false
	}
	return false
}

func TestImportDirection(t *testing.T) {
	root := moduleRoot(t)
	for _, p := range packages(t, root) {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			if target, ours := strings.CutPrefix(imported, module); ours && !may(path, target) {
				t.Errorf("%s imports %s", path, target)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			target, ours := strings.CutPrefix(imported, module)
			if ours && !below(path, "e2e") && (below(target, "e2e") || below(target, "cmd") && !below(path, "cmd")) {
				t.Errorf("the tests of %s import %s", path, target)
			}
		}
	}
}

// TestRules makes sure that the rules refuse what they are there for.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		path, target string
		want         bool
	}{
		{"source/postgres", "schema", true},
		{"source/postgres", "source", true},
		{"source/postgres", "source/window", true},
		{"source/postgres", "source/mysql", false},
		{"source/postgres", "sink", false},
		{"source/postgres", "runtime/stream", false},
		{"sink/iceberg", "runtime/state/pebble", true},
		{"sink/iceberg", "source", false},
		{"schema", "runtime/state", false},
		{"runtime/stream", "schema", false},
		{"runtime/state/pebble", "runtime/stream", false},
		{"pipeline/compose", "cmd/freshet", false},
		{"cmd/freshet", "sink/iceberg", false},
		{"cmd/freshet", "source/postgres", false},
	} {
		if got := may(c.path, c.target); got != c.want {
			t.Errorf("may %s import %s: %v", c.path, c.target, got)
		}
	}
}

// top is all that may lie at the top of the repository, beside dot files.
var top = []string{"LICENSE", "README.md", "cmd", "docker-compose.yml", "e2e", "examples", "go.mod", "go.sum",
	"pipeline", "runtime", "schema", "sink", "source"}

func TestTopLevel(t *testing.T) {
	found := map[string]bool{}
	for _, path := range tracked(t, moduleRoot(t)) {
		name, _, _ := strings.Cut(path, "/")
		found[name] = true
		if !strings.HasPrefix(name, ".") && !slices.Contains(top, name) {
			t.Errorf("%s does not belong at the top", path)
		}
	}
	for _, name := range top {
		if !found[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestFileSize: a Go file above 600 lines holds more than one idea.
func TestFileSize(t *testing.T) {
	root := moduleRoot(t)
	for _, path := range tracked(t, root) {
		if !strings.HasSuffix(path, ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(data, []byte("\n")); lines > 600 {
			t.Errorf("%s has %d lines", path, lines)
		}
	}
}

var script = regexp.MustCompile(`(?m)(?:bash|go run|go test) (\./cmd/[a-z]+|[a-z0-9/._-]+\.sh|\.ci/run|examples/[a-z]+\.yaml)`)

// TestReadme checks that what README.md says to run exists.
func TestReadme(t *testing.T) {
	root := moduleRoot(t)
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range script.FindAllSubmatch(data, -1) {
		path := string(m[1])
		found = append(found, path)
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("README.md: %v", err)
		}
	}
	for _, want := range []string{"./cmd/freshet", "e2e/run.sh", "e2e/crash.sh", "e2e/bench.sh"} {
		if !slices.Contains(found, want) {
			t.Errorf("README.md does not say how to run %s", want)
		}
	}
	requirements, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	direct, _, _ := strings.Cut(string(requirements), "// indirect")
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v`).FindAllStringSubmatch(direct, -1) {
		if line := m[1]; !strings.Contains(string(data), line) && !strings.Contains(line, "cloud.google.com") {
			t.Errorf("README.md does not say why %s is needed", line)
		}
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := servers.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// tracked lists the files that git knows.
func tracked(t *testing.T, root string) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	return strings.Fields(string(out))
}
