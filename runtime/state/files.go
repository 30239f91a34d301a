package state

import (
	"errors"
	"strings"
)

var (
	// ErrCorrupt says that a file of a handle is damaged: truncated, changed, or
	// not what the handle says.
	ErrCorrupt = errors.New("state file is corrupt")
	// ErrUnordered says that BulkLoad met a key that is not above the one before it.
	ErrUnordered = errors.New("keys are not in ascending order")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("state store is closed")
	// ErrUnknownBackend says that a handle was written by a back end that can't be read here.
	ErrUnknownBackend = errors.New("state was written by an unknown back end")
)

// CheckpointFiles is implemented by Files that know for which checkpoint a file is
// stored. They keep a file that no published checkpoint names as long as the
// checkpoint that it was stored for may still be published, and no longer.
type CheckpointFiles interface {
	Files
	// ForCheckpoint returns the same files, with Put on behalf of checkpoint id.
	ForCheckpoint(id int64) Files
}

// FilesFor returns files for the upload of checkpoint id. Back ends call it in Snapshot.Upload.
func FilesFor(files Files, id int64) Files {
	if cf, ok := files.(CheckpointFiles); ok {
		return cf.ForCheckpoint(id)
	}
	return files
}

// FileLabel makes of an operator's uid the first part of file names: only ASCII letters,
// digits, '.', '_' and '-', not longer than 40 bytes, no dot at the start. It need not be
// unique, it helps people who look into the folder.
func FileLabel(operator string) string {
	label := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, operator)
	if label == "" || label[0] == '.' {
		label = "_" + label
	}
	return label[:min(len(label), 40)]
}
