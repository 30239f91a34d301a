package checkpoint

import "fmt"

// Aligner decides, for a subtask with several inputs, when the barrier of a
// checkpoint has come on all of them, and which inputs are held back until then
// (exactly-once alignment). It is a step function: the caller tells it what came
// and does what it answers, in order, before it goes on.
//
// Ids grow on every input. A barrier above the one being aligned aborts the lower
// alignment: its producer has already given the lower one up. Barriers of ids
// that are complete or aborted are ignored. An ended input counts as aligned.
type Aligner struct {
	inputs  []alignedInput
	current ID // 0: nothing is being aligned
	settled ID // the highest id that is complete or aborted
	arrived int
	ended   int
}

type alignedInput struct{ arrived, ended bool }

// AlignKind is what an Aligner asks for.
type AlignKind uint8

const (
	// AlignBlock: hold Input back until AlignUnblock.
	AlignBlock AlignKind = iota + 1
	// AlignUnblock: no input is held back any more.
	AlignUnblock
	// AlignComplete: the barrier of ID is here on all inputs; take the snapshot and forward it.
	AlignComplete
	// AlignAborted: the alignment of ID was given up for a higher one.
	AlignAborted
	// AlignEnded: all inputs have ended.
	AlignEnded
)

var alignNames = [...]string{AlignBlock: "block", AlignUnblock: "unblock", AlignComplete: "complete", AlignAborted: "aborted", AlignEnded: "ended"}

// AlignAction is one thing to do.
type AlignAction struct {
	Kind  AlignKind
	Input int
	ID    ID
}

// String prints the action as scripts show it.
func (a AlignAction) String() string {
	switch a.Kind {
	case AlignBlock:
		return fmt.Sprintf("block input %d", a.Input)
	case AlignComplete, AlignAborted:
		return fmt.Sprintf("%s %d", alignNames[a.Kind], a.ID)
	default:
		return alignNames[a.Kind]
	}
}

// NewAligner returns an aligner for inputs many inputs, at least one.
func NewAligner(inputs int) *Aligner { return &Aligner{inputs: make([]alignedInput, inputs)} }

// Current returns the checkpoint being aligned, 0 when there is none.
func (a *Aligner) Current() ID { return a.current }

// Barrier says that the barrier of id came on an input.
func (a *Aligner) Barrier(input int, id ID) []AlignAction {
	if id <= a.settled || id < a.current || a.inputs[input].ended {
		return nil
	}
	var actions []AlignAction
	if id > a.current {
		if a.current != 0 {
			actions = append(actions, AlignAction{Kind: AlignAborted, ID: a.current}, AlignAction{Kind: AlignUnblock})
			a.settle(a.current)
		}
		a.current = id
	}
	if a.inputs[input].arrived {
		return actions
	}
	a.inputs[input].arrived = true
	a.arrived++
	if a.arrived+a.ended == len(a.inputs) {
		return append(actions, a.complete()...)
	}
	return append(actions, AlignAction{Kind: AlignBlock, Input: input})
}

// End says that an input has ended.
func (a *Aligner) End(input int) []AlignAction {
	if a.inputs[input].ended {
		return nil
	}
	var actions []AlignAction
	if in := &a.inputs[input]; in.arrived {
		in.arrived = false
		a.arrived--
	}
	a.inputs[input].ended = true
	a.ended++
	if a.current != 0 && a.arrived+a.ended == len(a.inputs) {
		actions = a.complete()
	}
	if a.ended == len(a.inputs) {
		actions = append(actions, AlignAction{Kind: AlignEnded})
	}
	return actions
}

// Abort says that the coordinator gave up all checkpoints up to id.
func (a *Aligner) Abort(id ID) []AlignAction {
	if a.current != 0 && a.current <= id {
		a.settle(id)
		return []AlignAction{{Kind: AlignUnblock}}
	}
	a.settled = max(a.settled, id)
	return nil
}

func (a *Aligner) complete() []AlignAction {
	id, blocked := a.current, a.arrived > 1
	a.settle(id)
	actions := []AlignAction{{Kind: AlignComplete, ID: id}}
	if blocked || a.ended > 0 {
		actions = append(actions, AlignAction{Kind: AlignUnblock})
	}
	return actions
}

func (a *Aligner) settle(id ID) {
	a.settled = max(a.settled, id)
	a.current, a.arrived = 0, 0
	for i := range a.inputs {
		a.inputs[i].arrived = false
	}
}
