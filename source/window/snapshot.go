package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Snapshot says which transactions a reader sees: all below Xmin, none from
// Xmax on, and between them those that InProgress does not list. The numbers
// are 64 bits wide, epoch included, so they never wrap.
type Snapshot struct {
	Xmin       uint64   `json:"xmin"`
	Xmax       uint64   `json:"xmax"`
	InProgress []uint64 `json:"inProgress,omitempty"` // ascending
}

// ParseSnapshot reads PostgreSQL's pg_snapshot, for instance 10:20:10,14,15.
func ParseSnapshot(text string) (Snapshot, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return Snapshot{}, fmt.Errorf("window: %q is no pg_snapshot", text)
	}
	var s Snapshot
	var err error
	if s.Xmin, err = strconv.ParseUint(parts[0], 10, 64); err != nil {
		return Snapshot{}, fmt.Errorf("window: %q is no pg_snapshot: %w", text, err)
	}
	if s.Xmax, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
		return Snapshot{}, fmt.Errorf("window: %q is no pg_snapshot: %w", text, err)
	}
	if parts[2] == "" {
		return s, nil
	}
	for _, p := range strings.Split(parts[2], ",") {
		x, err := strconv.ParseUint(p, 10, 64)
		if err != nil {
			return Snapshot{}, fmt.Errorf("window: %q is no pg_snapshot: %w", text, err)
		}
		s.InProgress = append(s.InProgress, x)
	}
	slices.Sort(s.InProgress)
	return s, nil
}

// String prints the snapshot as PostgreSQL does.
func (s Snapshot) String() string {
	list := make([]string, len(s.InProgress))
	for i, x := range s.InProgress {
		list[i] = strconv.FormatUint(x, 10)
	}
	return fmt.Sprintf("%d:%d:%s", s.Xmin, s.Xmax, strings.Join(list, ","))
}

// Sees reports whether a committed transaction is visible in s.
func (s Snapshot) Sees(xid uint64) bool {
	if xid < s.Xmin {
		return true
	}
	if xid >= s.Xmax {
		return false
	}
	_, listed := slices.BinarySearch(s.InProgress, xid)
	return !listed
}

// SeesAllOf reports whether every transaction that old sees is visible in s.
func (s Snapshot) SeesAllOf(old Snapshot) bool {
	if s.Xmax < old.Xmax {
		return false
	}
	for _, x := range s.InProgress {
		if old.Sees(x) {
			return false
		}
	}
	return true
}

// FullXID gives a 32-bit transaction number of the log its epoch: the result is
// the number nearest to near, which must be less than 2^31 transactions away.
func FullXID(xid uint32, near uint64) uint64 {
	return uint64(int64(near) + int64(int32(xid-uint32(near))))
}

// Cover is what must be visible to a new SELECT before a table may be read.
// The zero value asks for nothing.
type Cover struct {
	// XIDs are transactions that the tail has passed.
	XIDs []uint64 `json:"xids,omitempty"`
	// Initial is the snapshot that was exported with the slot: commits before the
	// slot's consistent point are never in the tail, yet may not be visible.
	Initial *Snapshot `json:"initial,omitempty"`
	// Before asks that every transaction below it has ended. It stands for
	// transactions whose numbers nobody has noted: those before a slot that was
	// found, or that wrote to a table before it was published.
	Before uint64 `json:"before,omitempty"`
}

// Empty reports whether nothing is asked for.
func (c Cover) Empty() bool { return len(c.XIDs) == 0 && c.Initial == nil && c.Before == 0 }

// Met reports whether s fulfils c.
func (c Cover) Met(s Snapshot) bool { return c.Rest(s).Empty() }

// Rest returns what s leaves open of c. What is visible once stays visible, so
// the rest alone need be asked again.
func (c Cover) Rest(s Snapshot) Cover {
	var rest Cover
	for _, x := range c.XIDs {
		if !s.Sees(x) {
			rest.XIDs = append(rest.XIDs, x)
		}
	}
	if c.Initial != nil && !s.SeesAllOf(*c.Initial) {
		rest.Initial = c.Initial
	}
	if c.Before > s.Xmin {
		rest.Before = c.Before
	}
	return rest
}

// clone returns a copy that shares no list that grows.
func (c Cover) clone() Cover {
	c.XIDs = slices.Clone(c.XIDs)
	return c
}

// add unites c with other.
func (c *Cover) add(other Cover) {
	c.XIDs = append(c.XIDs, other.XIDs...)
	if other.Initial != nil {
		c.Initial = other.Initial
	}
	c.Before = max(c.Before, other.Before)
}
