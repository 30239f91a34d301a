package filestore

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// ParseURL returns the folder that a checkpoint location names:
// file:///path, file:/path, or a plain path. Other schemes are an error.
func ParseURL(location string) (dir string, err error) {
	if location == "" {
		return "", fmt.Errorf("checkpoint location is empty; give one as file:///path")
	}
	scheme, _, ok := strings.Cut(location, ":")
	if !ok || strings.ContainsAny(scheme, `/\.`) {
		return filepath.Abs(location)
	}
	if !strings.EqualFold(scheme, "file") {
		return "", fmt.Errorf("checkpoint location %q: scheme %q is not supported; use file:///path", location, scheme)
	}
	u, err := url.Parse(location)
	if err != nil {
		return "", fmt.Errorf("checkpoint location %q: %w", location, err)
	}
	switch {
	case u.Host != "" && u.Host != "localhost":
		return "", fmt.Errorf("checkpoint location %q names the host %q; a local folder has three slashes: file:///%s%s",
			location, u.Host, u.Host, u.Path)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("checkpoint location %q: '?' and '#' in a path are written %%3F and %%23", location)
	case !filepath.IsAbs(u.Path):
		return "", fmt.Errorf("checkpoint location %q has no absolute path; use file:///path", location)
	}
	return filepath.Clean(u.Path), nil
}
