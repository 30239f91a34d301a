package filestore_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/checkpoint/filestore"
	"github.com/freshet-cdc/freshet/runtime/checkpoint/storetest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("FILESTORE_TEST_OWN"); dir != "" {
		own(dir)
	}
	goleak.VerifyTestMain(m)
}

// place is a folder on disk.
type place struct {
	dir  string
	wrap func(fs vfs.FS) vfs.FS
}

func (p place) Store(t *testing.T, pipeline string, retained int, unlocked bool) checkpoint.Store {
	t.Helper()
	fs := vfs.Default
	if p.wrap != nil {
		fs = p.wrap(fs)
	}
	if unlocked {
		fs = noLockFS{fs}
	}
	return newStore(t, filestore.Options{Dir: p.dir, Pipeline: pipeline, Retained: retained, FS: fs})
}

func (p place) Damage(t *testing.T, id checkpoint.ID) {
	t.Helper()
	path := metadataPath(p.dir, id)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p place) DamageFile(t *testing.T, name string, remove bool) {
	t.Helper()
	path := filepath.Join(p.dir, "shared", name)
	err := os.Remove(path)
	if !remove {
		err = errors.Join(err, os.WriteFile(path, []byte("short"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func metadataPath(dir string, id checkpoint.ID) string {
	return filepath.Join(dir, "chk-"+itoa(id), "_metadata")
}

func newStore(t *testing.T, opts filestore.Options) *filestore.Store {
	t.Helper()
	s, err := filestore.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noLockFS is a file system whose locks keep nobody out.
type noLockFS struct{ vfs.FS }

func (noLockFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// noLinkFS can't link, like some network file systems.
type noLinkFS struct{ vfs.FS }

func (noLinkFS) Link(string, string) error { return errors.New("links are not supported") }

func TestConformance(t *testing.T) {
	t.Run("Links", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Place { return place{dir: t.TempDir() + "/a/b"} })
	})
	t.Run("Copies", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) storetest.Place {
			return place{dir: t.TempDir(), wrap: func(fs vfs.FS) vfs.FS { return noLinkFS{fs} }}
		})
	})
}

// own acquires the folder and holds it until standard input ends.
func own(dir string) {
	store, err := filestore.New(filestore.Options{Dir: dir, Pipeline: "shop"})
	if err == nil {
		_, err = store.Acquire(context.Background())
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	println("owned")
	_, _ = io.ReadAll(os.Stdin)
	os.Exit(0)
}

// TestLockOfAnotherProcess also kills the owner: a lock does not outlive it.
func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FILESTORE_TEST_OWN="+dir)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, _ := stderr.Read(buf)
	if string(buf[:n]) != "owned\n" {
		t.Fatalf("the other process says %q", buf[:n])
	}
	store := newStore(t, filestore.Options{Dir: dir, Pipeline: "shop"})
	_, err = store.Acquire(context.Background())
	if !errors.Is(err, checkpoint.ErrLocked) || !strings.Contains(err.Error(), "pid "+itoa(int64(cmd.Process.Pid))) {
		t.Errorf("acquire while pid %d owns it: %v", cmd.Process.Pid, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s, err := store.Acquire(context.Background())
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamage damages _metadata in every way that a disk does.
func TestDamage(t *testing.T) {
	for _, tc := range []struct {
		name    string
		damage  func(data []byte) []byte
		message string
	}{
		{"empty", func([]byte) []byte { return nil }, "does not begin with"},
		{"zeros", func(d []byte) []byte { return make([]byte, len(d)) }, "does not begin with"},
		{"truncated", func(d []byte) []byte { return d[:len(d)-1] }, "bytes after the first line"},
		{"longer", func(d []byte) []byte { return append(d, 0) }, "bytes after the first line"},
		{"changed", func(d []byte) []byte { d[len(d)-3] ^= 4; return d }, "checksum"},
		{"of another", func(d []byte) []byte { return d }, "is of checkpoint 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			store := newStore(t, filestore.Options{Dir: dir, Pipeline: "shop"})
			s := acquire(t, store)
			publish(t, s, 1)
			publish(t, s, 2)
			from := checkpoint.ID(2)
			if tc.name == "of another" {
				from = 1
			}
			data, err := os.ReadFile(metadataPath(dir, from))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(metadataPath(dir, 2), tc.damage(data), 0o644); err != nil {
				t.Fatal(err)
			}
			m, corrupt, err := s.Latest(context.Background())
			if err != nil || m == nil || m.ID != 1 || len(corrupt) != 1 {
				t.Fatalf("latest %v, %v, %v", m, corrupt, err)
			}
			if msg := corrupt[0].Error(); !strings.Contains(msg, tc.message) || !strings.Contains(msg, metadataPath(dir, 2)) {
				t.Errorf("the error says %q", msg)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestNewerVersion: what a newer program wrote is not damaged, and going back is not for us to decide.
func TestNewerVersion(t *testing.T) {
	dir := t.TempDir()
	store := newStore(t, filestore.Options{Dir: dir, Pipeline: "shop"})
	s := acquire(t, store)
	publish(t, s, 1)
	data, err := os.ReadFile(metadataPath(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(data), "freshet-checkpoint 1 ", "freshet-checkpoint 2 ", 1)
	if err := os.WriteFile(metadataPath(dir, 1), []byte(newer), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Latest(context.Background()); !errors.Is(err, checkpoint.ErrVersion) {
		t.Errorf("latest: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Acquire(context.Background()); !errors.Is(err, checkpoint.ErrVersion) {
		t.Errorf("acquire: %v", err)
	}
}

// TestIdentity loses and damages LINEAGE and OWNER.
func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	store := newStore(t, filestore.Options{Dir: dir, Pipeline: "shop"})
	s := acquire(t, store)
	publish(t, s, 1)
	lineage := s.Lineage()
	for _, name := range []string{"LINEAGE", "OWNER"} {
		for _, damage := range []func(string) error{
			os.Remove, func(p string) error { return os.WriteFile(p, []byte("{"), 0o644) },
		} {
			if err := errors.Join(s.Close(), damage(filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
			if _, err := newStore(t, filestore.Options{Dir: dir, Pipeline: "other"}).Acquire(context.Background()); !errors.Is(err, checkpoint.ErrForeign) {
				t.Errorf("another pipeline, without %s: %v", name, err)
			}
			s = acquire(t, store)
			if s.Lineage() != lineage {
				t.Errorf("without %s the lineage is %s", name, s.Lineage())
			}
		}
	}
	if err := errors.Join(s.Close(), os.Remove(filepath.Join(dir, "LINEAGE")), os.WriteFile(metadataPath(dir, 1), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Acquire(context.Background()); !errors.Is(err, checkpoint.ErrCorrupt) {
		t.Errorf("nothing tells whose it is: %v", err)
	}
}

func TestParseURL(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"file:///var/lib/x/":        "/var/lib/x",
		"file:/var/lib/x":           "/var/lib/x",
		"FILE://localhost/a/../b":   "/b",
		"file:///with%20space/%3Fq": "/with space/?q",
		"/plain/path":               "/plain/path",
		"relative/dir":              filepath.Join(wd, "relative/dir"),
		"./odd:name":                filepath.Join(wd, "odd:name"),
	} {
		if got, err := filestore.ParseURL(in); err != nil || got != want {
			t.Errorf("ParseURL(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                    "empty",
		"s3://bucket/x":       `"s3" is not supported`,
		"hdfs://nn:8020/x":    `"hdfs" is not supported`,
		"file://var/lib/x":    "file:///var/lib/x",
		"file:relative":       "absolute",
		"file:///x?y=z":       "%3F",
		"file:///bad%zzquote": "invalid URL escape",
	} {
		if got, err := filestore.ParseURL(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseURL(%q) = %q, %v; want an error with %q", in, got, err, want)
		}
	}
}
