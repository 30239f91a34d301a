package iceberg

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

func minimal() map[string]string {
	return map[string]string{optType: "sql", optURI: "sqlite:///tmp/c.db", optWarehouse: "file:///tmp/w/"}
}

func TestOptionDefaults(t *testing.T) {
	o, err := parseOptions(minimal())
	if err != nil {
		t.Fatal(err)
	}
	if o.name != "freshet" || o.mode != modeUpsert || o.warehouse != "file:///tmp/w" || o.targetFileSize != 128<<20 || o.commitTimeout != 30*time.Second || !o.expire || o.acceptExisting {
		t.Errorf("%+v", o)
	}
	for key, want := range map[string]string{propMaxSnapshotAge: "3600000", propMinSnapshots: "10", propDeleteMetadata: "true", propPreviousVersions: "20"} {
		if o.properties[key] != want {
			t.Errorf("%s is %q, want %s", key, o.properties[key], want)
		}
	}
	m := minimal()
	maps.Copy(m, map[string]string{"history.expire.max-snapshot-age": "2 h", "commit.timeout": "1 min", "write.target-file-size-bytes": "64 mb", "table.properties." + propMinSnapshots: "7"})
	if o, err = parseOptions(m); err != nil || o.properties[propMaxSnapshotAge] != "7200000" || o.commitTimeout != time.Minute || o.targetFileSize != 64<<20 || o.properties[propMinSnapshots] != "7" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOptionErrors(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{optType, "rest", "there is sql"}, {optType, "", "missing|unknown"}, {optURI, "sqlite://catalog.db", "not absolute"}, {optURI, "mysql://h/d", `scheme "mysql"`},
		{optWarehouse, "s3://b/w", "local"}, {optWarehouse, "/tmp/w", "file:///"}, {"write.mode", "merge", "upsert, append"},
		{"temporal.infinity", "drop", "clamp"}, {"commit.timeout", "soon", "duration"}, {"write.max-open-files", "0", "number"}, {"write.buffer-bytes", "12 parsecs", "size"},
		{"write.mod", "append", "no such option"}, {"table.properties.format-version", "3", "version 2"}, {"table.properties.freshet.lineage", "x", "sink's own"}, {"history.expire.enabled", "ja", "true nor false"},
	} {
		m := minimal()
		m[c.key] = c.value
		_, err := New(m, nil)
		var e *sink.OptionError
		if !errors.As(err, &e) || e.Key != c.key {
			t.Errorf("%s=%s: %v", c.key, c.value, err)
			continue
		}
		found := false
		for _, w := range strings.Split(c.want, "|") {
			found = found || strings.Contains(err.Error(), w)
		}
		if !found {
			t.Errorf("%s=%s: %q is missing in %v", c.key, c.value, c.want, err)
		}
	}
	for _, key := range []string{optType, optURI, optWarehouse} {
		m := minimal()
		delete(m, key)
		var e *sink.OptionError
		if _, err := New(m, nil); !errors.As(err, &e) || e.Key != key {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

// TestLocationsStayInTheWarehouse: no table name leaves the folder or looks like another's.
func TestLocationsStayInTheWarehouse(t *testing.T) {
	o := options{warehouse: "file:///w"}
	seen := map[string]schema.TableID{}
	for _, id := range []schema.TableID{{Table: "t"}, {Schema: "a.b", Table: "c"}, {Namespace: "a", Schema: "b", Table: "c"}, {Schema: "..", Table: "../x"}, {Schema: "a", Table: "b/c"}, {Schema: "Ü", Table: "weiß %20?#"}, {Schema: "a", Table: ".b"}, {Schema: "a", Table: "=2Eb"}, {Schema: "A", Table: "b"}} {
		loc := o.location(id)
		if other, ok := seen[loc]; ok {
			t.Errorf("%v and %v both lie at %s", id, other, loc)
		}
		seen[loc] = id
		path, err := localPath(loc)
		if err != nil || filepath.Clean(path) != path || !strings.HasPrefix(path, "/w/") {
			t.Errorf("%v lies at %s (%s, %v)", id, loc, path, err)
		}
	}
}

// TestFilesAreDurable: the registry's file system is the one that syncs, and it makes folders.
func TestFilesAreDurable(t *testing.T) {
	registerDurable()
	dir := t.TempDir()
	for _, loc := range []string{"file://" + dir + "/a/b/c.bin", dir + "/d/e.bin"} {
		fs, err := iceio.LoadFS(t.Context(), nil, loc)
		if err != nil {
			t.Fatal(err)
		}
		d, ok := fs.(durableFS)
		if !ok {
			t.Fatalf("%s opens as %T", loc, fs)
		}
		w, err := d.Create(loc)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := w.ReadFrom(strings.NewReader("content")); n != 7 || err != nil {
			t.Fatal(n, err)
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		path, _ := localPath(loc)
		if got, err := os.ReadFile(path); err != nil || string(got) != "content" {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, bad := range []string{"file://host/x", "file:x", "s3://b/x"} {
		if p, err := localPath(bad); err == nil {
			t.Errorf("%s became %s", bad, p)
		}
	}
}

// TestCheck finds what is wrong before anything runs.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := New(map[string]string{optType: "sql", optURI: "sqlite://" + dir + "/file/catalog.db", optWarehouse: "file://" + dir + "/file/w"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Check(t.Context()); len(got) != 2 {
		t.Errorf("problems: %v", got)
	}
	s, err = New(map[string]string{optType: "sql", optURI: "sqlite://" + dir + "/new/catalog.db", optWarehouse: "file://" + dir + "/w"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Check(t.Context()); len(got) != 0 {
		t.Errorf("problems: %v", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
