package document

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Environment is where ${NAME} and ${file:...} are looked up. The zero value is
// the process's environment and the file system.
type Environment struct {
	LookupEnv func(name string) (string, bool)
	ReadFile  func(path string) ([]byte, error)
}

func (e Environment) orDefaults() Environment {
	if e.LookupEnv == nil {
		e.LookupEnv = os.LookupEnv
	}
	if e.ReadFile == nil {
		e.ReadFile = os.ReadFile
	}
	return e
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// substituted is a value after substitution.
type substituted struct {
	text string
	// env and file say that a part came from the environment or from a file.
	env, file bool
}

// substitute replaces every ${...} in text. dir is the folder that relative
// paths of ${file:...} start from. The error never holds a value.
func substitute(text, dir string, env Environment) (substituted, error) {
	var out strings.Builder
	s := substituted{}
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			out.WriteString(text)
			s.text = out.String()
			return s, nil
		}
		if i > 0 && text[i-1] == '$' { // $${ is a literal ${
			out.WriteString(text[:i-1])
			out.WriteString("${")
			text = text[i+2:]
			continue
		}
		out.WriteString(text[:i])
		ref, rest, ok := strings.Cut(text[i+2:], "}")
		if !ok {
			return s, errors.New("${ without a closing }; write $${ for a literal ${")
		}
		value, err := s.resolve(ref, dir, env)
		if err != nil {
			return s, err
		}
		out.WriteString(value)
		text = rest
	}
}

// resolve returns the value of what stands between the braces.
func (s *substituted) resolve(ref, dir string, env Environment) (string, error) {
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		s.file = true
		return readSecret(path, dir, env)
	}
	name, fallback, hasFallback := strings.Cut(ref, ":-")
	if strings.Contains(fallback, "${") {
		return "", fmt.Errorf("the default of ${%s:-...} holds another ${; substitutions can't be nested", name)
	}
	if !variableName.MatchString(name) {
		return "", fmt.Errorf("${%s} is no substitution; write ${NAME}, ${NAME:-default} or ${file:/path}, and $${ for a literal ${", ref)
	}
	value, set := env.LookupEnv(name)
	if hasFallback && value == "" {
		return fallback, nil
	}
	s.env = true
	if !set {
		return "", fmt.Errorf("the environment variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	return value, nil
}

func readSecret(path, dir string, env Environment) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	data, err := env.ReadFile(path)
	if err != nil {
		cause := err
		if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
			cause = pathErr.Err
		}
		return "", fmt.Errorf("can't read ${file:%s}: %w", path, cause)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
