package filestore

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
)

const (
	lockName    = "LOCK"
	ownerName   = "OWNER"
	lineageName = "LINEAGE"
)

// owner is the content of OWNER.
type owner struct {
	// Token grows with each owner. Nonce tells two apart even so.
	Token int64     `json:"token"`
	Nonce string    `json:"nonce"`
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
	// Next is above every id that was in the folder when this owner came.
	Next checkpoint.ID `json:"next"`
}

// identity is the content of LINEAGE.
type identity struct {
	Pipeline string    `json:"pipeline"`
	Lineage  string    `json:"lineage"`
	Created  time.Time `json:"created"`
}

// readIdentity returns the folder's identity, from LINEAGE or else from the
// newest checkpoint that can be read; ok is false when the folder is new.
func (s *session) readIdentity() (id identity, ok bool, err error) {
	err = readJSON(s.fs, s.path(lineageName), &id)
	if err == nil && id.Pipeline != "" && id.Lineage != "" {
		return id, true, nil
	}
	missing := isNotExist(err)
	ids, lerr := s.list()
	if lerr != nil && !isNotExist(lerr) {
		return id, false, lerr
	}
	published := 0
	for i := len(ids) - 1; i >= 0; i-- {
		e, err := s.readMetadata(ids[i])
		if err == nil {
			return identity{Pipeline: e.Pipeline, Lineage: e.Checkpoint.Lineage, Created: e.Checkpoint.Time}, true, nil
		}
		if !isNotExist(err) {
			published++
		}
	}
	if published == 0 && missing {
		return id, false, nil
	}
	return id, false, fmt.Errorf("%w: %s can't be read (%v), and no checkpoint tells whose the directory is; "+
		"restore the file, or move the directory away to start anew", checkpoint.ErrCorrupt, s.path(lineageName), err)
}

// checkPipeline refuses the folder of another pipeline.
func (s *session) checkPipeline() error {
	id, ok, err := s.readIdentity()
	if err != nil || !ok {
		return err
	}
	if id.Pipeline != s.opts.Pipeline {
		return fmt.Errorf("%w: it is of %q, this one is %q; give each pipeline a directory of its own "+
			"(or keep the name, pipeline.name, if it was only changed)", checkpoint.ErrForeign, id.Pipeline, s.opts.Pipeline)
	}
	return nil
}

// identify reads the lineage, or makes one for a new folder.
func (s *session) identify() error {
	if err := s.checkPipeline(); err != nil { // again: now under the lock
		return err
	}
	id, ok, err := s.readIdentity()
	if err != nil {
		return err
	}
	if !ok {
		id = identity{Pipeline: s.opts.Pipeline, Lineage: uuid.NewString(), Created: time.Now().UTC()}
	}
	s.lineage = id.Lineage
	var onDisk identity
	if readJSON(s.fs, s.path(lineageName), &onDisk) == nil && onDisk == id {
		return nil
	}
	return replaceJSON(s.fs, s.dir, lineageName, id)
}

// takeOver makes this session the owner: from here on earlier ones can't publish
// what they have not prepared yet.
func (s *session) takeOver() error {
	var last owner
	if err := readJSON(s.fs, s.path(ownerName), &last); err != nil && !isNotExist(err) {
		last = owner{} // damaged: the nonce fences all the same
	}
	ids, err := s.list()
	if err != nil {
		return err
	}
	s.next = max(last.Next, 1)
	for _, id := range ids {
		s.next = max(s.next, id+1)
		if e, err := s.readMetadata(id); err == nil {
			last.Token = max(last.Token, e.Token)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	s.owner = owner{Token: last.Token + 1, Nonce: uuid.NewString(), PID: os.Getpid(), Host: host, Since: time.Now().UTC(), Next: s.next}
	return replaceJSON(s.fs, s.dir, ownerName, s.owner)
}

// checkOwner fails with ErrFenced when someone else has taken over.
func (s *session) checkOwner() error {
	var o owner
	if err := readJSON(s.fs, s.path(ownerName), &o); err != nil {
		if isNotExist(err) {
			return fmt.Errorf("%w: %s is gone", checkpoint.ErrFenced, s.path(ownerName))
		}
		return fmt.Errorf("%s: %w", s.path(ownerName), err)
	}
	if o.Token != s.owner.Token || o.Nonce != s.owner.Nonce {
		return fmt.Errorf("%w: pid %d on host %s, since %s (its token is %d, ours %d)",
			checkpoint.ErrFenced, o.PID, o.Host, o.Since.Format(time.RFC3339), o.Token, s.owner.Token)
	}
	return nil
}

// removeUnpublished removes the folders of checkpoints that never got their
// name. Where an earlier owner is about to publish one, either its rename
// came first, or it fails because the file is gone.
func (s *session) removeUnpublished() error {
	ids, err := s.list()
	if err != nil {
		return err
	}
	for _, id := range ids {
		s.next = max(s.next, id+1)
		dir := s.path(dirName(id))
		if err := s.removeTemporary(dir); err != nil {
			return err
		}
		_, err := s.fs.Stat(s.fs.PathJoin(dir, metadataName))
		if isNotExist(err) {
			err = s.fs.RemoveAll(dir)
		}
		if err != nil {
			return err
		}
	}
	return s.removeTemporary(s.dir)
}

// removeTemporary removes the files of a folder that were being written.
func (s *session) removeTemporary(dir string) error {
	names, err := s.fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, tmpSuffix) {
			if err := remove(s.fs, s.fs.PathJoin(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
