package filestore

import (
	"maps"
	"sync"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
)

// unattributed stands for files that were stored without the number of a
// checkpoint: for the next one that is published.
const unattributed checkpoint.ID = 0

// tracker knows which files of shared/ are needed. A file may be removed when no
// published checkpoint names it and no upload in flight has stored it, or has
// relied on it being there. Only files that this session found or stored are
// ever removed: a stale owner does not touch those of its successor.
type tracker struct {
	mu        sync.Mutex
	known     map[string]bool // in the folder; true: stored by this session
	refs      map[string]bool // named by published checkpoints
	refsKnown bool            // false: a damaged checkpoint may name any file found at the start
	pins      map[string]map[checkpoint.ID]bool
	given     map[checkpoint.ID]bool   // aborted ids above settled
	settled   checkpoint.ID            // the highest published id
	busy      map[string]chan struct{} // files that are being stored
}

func newTracker() *tracker {
	return &tracker{
		known: map[string]bool{},
		pins:  map[string]map[checkpoint.ID]bool{},
		given: map[checkpoint.ID]bool{},
		busy:  map[string]chan struct{}{},
	}
}

// begin pins a file for checkpoint id; ok is false when that one was aborted,
// or published without it. A wait channel says that the file is being stored right now.
func (t *tracker) begin(name string, id checkpoint.ID) (wait <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id != unattributed && (t.given[id] || id <= t.settled) {
		return nil, false
	}
	if ch := t.busy[name]; ch != nil {
		return ch, true
	}
	t.busy[name] = make(chan struct{})
	if t.pins[name] == nil {
		t.pins[name] = map[checkpoint.ID]bool{}
	}
	t.pins[name][id] = true
	return nil, true
}

// end ends what begin began; stored says whether the file is there now.
func (t *tracker) end(name string, id checkpoint.ID, stored, created bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.busy[name])
	delete(t.busy, name)
	if stored {
		t.known[name] = t.known[name] || created
		return
	}
	t.unpin(name, id)
}

// found notes a file that was there at the start.
func (t *tracker) found(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name] = false
}

func (t *tracker) setRefs(refs map[string]bool, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refs, t.refsKnown = refs, known
}

// settle is called when id was published: it and all before it are done.
func (t *tracker) settle(id checkpoint.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settled = max(t.settled, id)
	maps.DeleteFunc(t.given, func(g checkpoint.ID, _ bool) bool { return g <= t.settled })
	for name, ids := range t.pins {
		for pin := range ids {
			if pin <= t.settled {
				t.unpin(name, pin)
			}
		}
	}
}

// abort gives up id; stores for it that come later are refused.
func (t *tracker) abort(id checkpoint.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id > t.settled {
		t.given[id] = true
	}
	for name := range t.pins {
		t.unpin(name, id)
	}
}

func (t *tracker) aborted(id checkpoint.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.given[id]
}

func (t *tracker) unpin(name string, id checkpoint.ID) {
	delete(t.pins[name], id)
	if len(t.pins[name]) == 0 {
		delete(t.pins, name)
	}
}

// collect calls remove for each file that is not needed, and forgets it when that succeeds.
// Stores of other files wait meanwhile, so that none relies on one that goes.
func (t *tracker) collect(remove func(name string) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, ours := range t.known {
		if t.refs[name] || len(t.pins[name]) > 0 || t.busy[name] != nil || !ours && !t.refsKnown {
			continue
		}
		if err := remove(name); err != nil {
			return err
		}
		delete(t.known, name)
	}
	return nil
}
