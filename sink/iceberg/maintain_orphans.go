package iceberg

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	iceberggo "github.com/apache/iceberg-go"

	"github.com/freshet-cdc/freshet/schema"
)

var manifestPattern = regexp.MustCompile(`^(?:snap-\d+-)?([^-]*)-\d+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-\d+-m\d+)?\.avro$`)
var deleteUUIDPattern = regexp.MustCompile(`([0-9a-f-]{36})\.parquet$`)

// owner returns whose file a name is: lineage and attempt.
func owner(name string) (lineage string, attempt uuid.UUID, ok bool) {
	if f, ok := parseFileName(name); ok {
		return f.Lineage8, f.UUID, true
	}
	if lineage, _, ok := parseDeleteFileName(name); ok {
		id, err := uuid.Parse(deleteUUIDPattern.FindStringSubmatch(name)[1])
		return lineage, id, err == nil
	}
	if m := manifestPattern.FindStringSubmatch(name); m != nil {
		id, err := uuid.Parse(m[2])
		return m[1], id, err == nil
	}
	return "", uuid.UUID{}, false
}

// table sweeps the folder of one table. It lists the files first: what is committed
// after that is no orphan, and what was committed before is in the table loaded then.
func (s *sweep) table(ctx context.Context, id schema.TableID) (removed int, again time.Time, err error) {
	folder := s.c.opts.location(id)
	found, metadata, err := s.list(folder)
	if err != nil || len(found)+len(metadata) == 0 {
		return 0, never, err
	}
	t, err := s.c.store.LoadTable(ctx, identifier(id))
	switch {
	case errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace):
		if t, err = nil, s.unowned(ctx, folder); err != nil {
			return 0, never, err
		}
	case err != nil:
		return 0, never, err
	case t.Location() != folder: // the files belong to another table, or to none of ours
		return 0, never, nil
	}
	return s.remove(ctx, t, found, metadata)
}

// errOwned: another table has its files in the folder.
var errOwned = errors.New("another table of the catalog lies in the folder")

// unowned makes sure that no table of the catalog, renamed perhaps, lies in a folder.
func (s *sweep) unowned(ctx context.Context, folder string) error {
	locations, err := s.locations(ctx)
	if err == nil && locations[folder] {
		err = errOwned
	}
	return err
}

// locations are the folders of all tables of the catalog.
func (s *sweep) locations(ctx context.Context) (map[string]bool, error) {
	idents, err := listTables(ctx, s.c.store)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, ident := range idents {
		t, err := s.c.store.LoadTable(ctx, ident)
		if err != nil && !errors.Is(err, catalog.ErrNoSuchTable) {
			return nil, err
		}
		if err == nil {
			out[strings.TrimRight(t.Location(), "/")] = true
		}
	}
	return out, nil
}

// strays sweeps the folders that hold files of this lineage and belong to no table:
// an attempt died before the first checkpoint of a table that is captured no more.
func (s *sweep) strays(ctx context.Context, known map[string]bool) (removed int, again time.Time, err error) {
	again = never
	folders, err := s.ownFolders()
	if err != nil || len(folders) == 0 {
		return 0, again, err
	}
	locations, err := s.locations(ctx)
	if err != nil {
		return 0, again, err
	}
	for _, folder := range folders {
		if known[folder] || locations[folder] {
			continue
		}
		found, metadata, err := s.list(folder)
		if err != nil {
			return removed, again, err
		}
		n, at, err := s.remove(ctx, nil, found, metadata)
		removed += n
		if at.Before(again) {
			again = at
		}
		if err != nil {
			return removed, again, err
		}
	}
	return removed, again, nil
}

// ownFolders finds the table folders of the warehouse that hold files of this lineage.
func (s *sweep) ownFolders() ([]string, error) {
	root, err := localPath(s.c.opts.warehouse)
	if err != nil {
		return nil, err
	}
	var out []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || !d.IsDir() || d.Name() != "data" && d.Name() != "metadata":
			return err
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if lineage, attempt, ok := owner(e.Name()); ok && lineage == lineage8(s.c.sc.Lineage) && !s.ours[attempt] {
				folder := s.c.opts.warehouse + filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), root))
				if len(out) == 0 || out[len(out)-1] != folder {
					out = append(out, folder)
				}
				break
			}
		}
		return filepath.SkipDir
	})
	return out, err
}

// list returns the files of a folder that failed attempts of this lineage made, by
// their names, and the metadata files, which have no name of ours.
func (s *sweep) list(folder string) (found []string, metadata []metadataFile, err error) {
	for _, sub := range []string{"/data/", "/metadata/"} {
		entries, err := s.c.fs.ReadDir(folder + sub)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		for _, e := range entries {
			path := folder + sub + e.Name()
			if m, ok := parseMetadataName(e.Name()); ok {
				if info, err := e.Info(); err == nil { // else it is gone
					m.path, m.written = path, info.ModTime()
					metadata = append(metadata, m)
				}
				continue
			}
			lineage, attempt, ok := owner(e.Name())
			if ok && lineage == lineage8(s.c.sc.Lineage) && !s.ours[attempt] && !s.keep[path] {
				found = append(found, path)
			}
		}
	}
	return found, metadata, nil
}

// remove removes what t does not need; nil is no table.
func (s *sweep) remove(ctx context.Context, t *table.Table, found []string, metadata []metadataFile) (removed int, again time.Time, err error) {
	used := map[string]bool{}
	if t != nil && len(found) > 0 {
		if used, err = s.c.usedFiles(ctx, t.Metadata()); err != nil {
			return 0, never, err
		}
	}
	stale, again := s.staleMetadata(t, metadata)
	for _, path := range append(found, stale...) {
		if err := ctx.Err(); err != nil {
			return removed, again, err
		}
		if !used[baseName(path)] {
			s.c.remove(path)
			removed++
		}
	}
	return removed, again, nil
}

// usedFiles are the names of all files that any snapshot of a table needs. Names are
// unique, so a location that is written in another way does no harm.
func (c *Committer) usedFiles(ctx context.Context, meta table.Metadata) (map[string]bool, error) {
	used := map[string]bool{}
	seen := map[string]iceberggo.ManifestFile{}
	for _, s := range meta.Snapshots() {
		used[baseName(s.ManifestList)] = true
		list, err := s.Manifests(c.fs)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, m := range list {
			if seen[m.FilePath()] != nil {
				continue
			}
			seen[m.FilePath()] = m
			used[baseName(m.FilePath())] = true
			if err := c.entries(ctx, m, false, func(p string) { used[baseName(p)] = true }); err != nil {
				return nil, err
			}
		}
	}
	return used, nil
}
