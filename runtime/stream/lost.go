package stream

import "errors"

// ErrLost says that a complete checkpoint can't be gone on from, see [Lost], and that no
// older one is kept.
var ErrLost = errors.New("checkpoint can't be gone on from, and none before it is kept")

// Lost is implemented by errors which say that an external system has lost what was
// prepared for a complete checkpoint, so that its commit will never happen. The job
// discards the checkpoint and goes on from the one before it.
type Lost interface {
	error
	// LostCheckpoint is the oldest checkpoint that is lost; so are all later ones.
	LostCheckpoint() int64
}
