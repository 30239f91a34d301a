package checkpoint

import "fmt"

// EventKind is what happened.
type EventKind uint8

const (
	// EventTick: time has passed (see Coordinator.Wake).
	EventTick EventKind = iota + 1
	// EventRequest: someone wants a checkpoint now, out of turn.
	EventRequest
	// EventStop: the job is to end after one last checkpoint.
	EventStop
	// EventSourceFinished: source Task has reached the end of its input.
	EventSourceFinished
	// EventAck: Task has taken and uploaded its state for checkpoint ID.
	EventAck
	// EventDecline: Task could not, for Err.
	EventDecline
	// EventPublished: checkpoint ID is durable; Oldest is the oldest one retained.
	EventPublished
	// EventPublishFailed: the store refused checkpoint ID, for Err.
	EventPublishFailed
	// EventCommitted: Task has returned from its commits for checkpoint ID.
	EventCommitted
)

// Event is one thing that happened.
type Event struct {
	Kind   EventKind
	Task   int
	ID     ID
	Oldest ID
	Err    error
}

// ActionKind is what a Coordinator asks for.
type ActionKind uint8

const (
	// ActionTrigger: tell every source to emit the barrier of ID; when Last is
	// set, the sources emit nothing after it.
	ActionTrigger ActionKind = iota + 1
	// ActionPublish: write the metadata of ID and publish it.
	ActionPublish
	// ActionAbort: ID will not be published; subtasks forget it, uploads are dropped.
	ActionAbort
	// ActionGiveUp: publishing ID failed. It may or may not be in the store, so
	// its files stay where they are.
	ActionGiveUp
	// ActionDiscard: Task's acknowledgement of ID came too late; drop its uploads.
	ActionDiscard
	// ActionNotifyOperators: every operator runs its commits for ID.
	ActionNotifyOperators
	// ActionNotifySources: all commits for ID are done; sources may release their
	// logs up to Oldest.
	ActionNotifySources
	// ActionFail: the attempt fails with Err.
	ActionFail
	// ActionFinish: the job is done, with ID as its last checkpoint.
	ActionFinish
)

// Action is one thing to do.
type Action struct {
	Kind   ActionKind
	ID     ID
	Oldest ID
	Task   int
	Last   bool
	Err    error
}

// String prints the action as scripts show it.
func (a Action) String() string {
	switch a.Kind {
	case ActionTrigger:
		if a.Last {
			return fmt.Sprintf("trigger %d (last)", a.ID)
		}
		return fmt.Sprintf("trigger %d", a.ID)
	case ActionPublish:
		return fmt.Sprintf("publish %d", a.ID)
	case ActionAbort:
		return fmt.Sprintf("abort %d: %v", a.ID, a.Err)
	case ActionGiveUp:
		return fmt.Sprintf("give up %d: %v", a.ID, a.Err)
	case ActionDiscard:
		return fmt.Sprintf("discard %d of task %d", a.ID, a.Task)
	case ActionNotifyOperators:
		return fmt.Sprintf("notify operators %d", a.ID)
	case ActionNotifySources:
		return fmt.Sprintf("notify sources %d, oldest %d", a.ID, a.Oldest)
	case ActionFail:
		return fmt.Sprintf("fail: %v", a.Err)
	case ActionFinish:
		return fmt.Sprintf("finish with %d", a.ID)
	}
	return fmt.Sprintf("action %d", a.Kind)
}
