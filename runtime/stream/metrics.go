package stream

import (
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freshet-cdc/freshet/runtime/task"
)

// Metrics gathers a job's figures. The zero value is ready; reading is safe at
// any time. Counters go on over restarts.
type Metrics struct {
	// Restarts is Flink's numRestarts.
	Restarts atomic.Int64
	// Running says that an attempt runs: everything is open.
	Running atomic.Bool

	Completed, Failed, InProgress atomic.Int64 // numberOf...Checkpoints
	LastID                        atomic.Int64 // lastCompletedCheckpointId; 0: none yet
	LastDurationNanos             atomic.Int64 // lastCheckpointDuration: trigger to publication
	LastCommitNanos               atomic.Int64 // publication to the last commit
	LastBytes, LastFullBytes      atomic.Int64 // lastCheckpointSize (added), lastCheckpointFullSize
	LastCompletedUnixNano         atomic.Int64 // lastCheckpointCompletedTimestamp; 0: none yet
	RestoredID                    atomic.Int64 // 0: fresh start
	RestoredUnixNano              atomic.Int64 // lastCheckpointRestoreTimestamp

	mu       sync.Mutex
	subtasks map[subtaskKey]*task.Counters
}

type subtaskKey struct {
	uid     string
	subtask int
}

// SubtaskMetrics are the figures of one subtask, since the job started.
type SubtaskMetrics struct {
	UID     string
	Subtask int
	// RecordsIn, RecordsOut and BytesOut are numRecordsIn, numRecordsOut and
	// numBytesOut; an element counts by its Weigher.
	RecordsIn, RecordsOut, BytesOut int64
	// Idle is time without input, Blocked time spent waiting for consumers (back
	// pressure); busy is the rest. Only the head of a chain has them, and a
	// source has no Idle.
	Idle, Blocked time.Duration
	// Alignment is checkpointAlignmentTime of the newest checkpoint.
	Alignment time.Duration
}

// Subtasks returns the figures of all subtasks, by uid and number.
func (m *Metrics) Subtasks() []SubtaskMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]SubtaskMetrics, 0, len(m.subtasks))
	for k, c := range m.subtasks {
		all = append(all, SubtaskMetrics{
			UID: k.uid, Subtask: k.subtask,
			RecordsIn: c.RecordsIn.Load(), RecordsOut: c.RecordsOut.Load(), BytesOut: c.BytesOut.Load(),
			Idle: time.Duration(c.IdleNanos.Load()), Blocked: time.Duration(c.BlockedNanos.Load()),
			Alignment: time.Duration(c.AlignNanos.Load()),
		})
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].UID != all[j].UID {
			return all[i].UID < all[j].UID
		}
		return all[i].Subtask < all[j].Subtask
	})
	return all
}

func (m *Metrics) counters(uid string, subtask int) *task.Counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := subtaskKey{uid, subtask}
	c := m.subtasks[key]
	if c == nil {
		if m.subtasks == nil {
			m.subtasks = map[subtaskKey]*task.Counters{}
		}
		c = new(task.Counters)
		m.subtasks[key] = c
	}
	return c
}
