package split

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mode is a start or an end of reading, with Flink's names.
type Mode string

// The modes. Unbounded is an end, Earliest a start alone.
const (
	Earliest  Mode = "earliest-offset"
	Latest    Mode = "latest-offset"
	Group     Mode = "group-offsets"
	Timestamp Mode = "timestamp"
	Specific  Mode = "specific-offsets"
	Unbounded Mode = "unbounded"
)

// Resets are what properties.auto.offset.reset may be.
const (
	ResetNone     = "none"
	ResetEarliest = "earliest"
	ResetLatest   = "latest"
)

// ErrStart is wrapped where it can't be said where a partition begins or ends.
var ErrStart = errors.New("where to read from, or up to, is not known")

// Broker is what the broker knows of a partition.
type Broker struct {
	// Start is the first offset, End the one behind the last that may be read.
	Start, End int64
	// Committed is the group's offset, -1 for none; At the first one at or behind the
	// timestamp, -1 for none.
	Committed, At int64
}

// Offsets are given offsets. A topic may be empty, which is for the only one that there is.
type Offsets map[Key]int64

// For returns the offset of a partition.
func (o Offsets) For(k Key) (int64, bool) {
	if v, ok := o[k]; ok {
		return v, true
	}
	v, ok := o[Key{Partition: k.Partition}]
	return v, ok
}

// Start returns the first offset to read.
func Start(mode Mode, k Key, b Broker, given Offsets, reset string) (int64, error) {
	switch mode {
	case Earliest:
		return b.Start, nil
	case Latest:
		return b.End, nil
	case Timestamp:
		if b.At < 0 {
			return b.End, nil
		}
		return b.At, nil
	case Group:
		if b.Committed >= 0 {
			return reached(k, b.Committed, b, reset)
		}
		switch reset {
		case ResetEarliest:
			return b.Start, nil
		case ResetLatest:
			return b.End, nil
		}
		return 0, fmt.Errorf("%s: %w: the group has no offset for it (set properties.auto.offset.reset to earliest or latest)", k, ErrStart)
	case Specific:
		v, ok := given.For(k)
		if !ok {
			return 0, fmt.Errorf("%s: %w: scan.startup.specific-offsets has none for it", k, ErrStart)
		}
		return reached(k, v, b, reset)
	}
	return 0, fmt.Errorf("start mode %q is unknown", mode)
}

// reached makes sure that the broker has an offset, or moves it as reset says.
func reached(k Key, offset int64, b Broker, reset string) (int64, error) {
	err := Check(Split{Key: k, Next: offset, Stop: Never}, b.Start, b.End)
	switch {
	case err == nil:
		return offset, nil
	case reset == ResetEarliest && offset < b.Start:
		return b.Start, nil
	case reset == ResetLatest:
		return b.End, nil
	}
	return 0, err
}

// Stop returns the offset that is not read any more, or Never.
func Stop(mode Mode, k Key, b Broker, given Offsets) (int64, error) {
	switch mode {
	case Unbounded:
		return Never, nil
	case Latest:
		return b.End, nil
	case Timestamp:
		if b.At < 0 {
			return b.End, nil
		}
		return b.At, nil
	case Group:
		if b.Committed < 0 {
			return 0, fmt.Errorf("%s: %w: the group has no offset for it", k, ErrStart)
		}
		return b.Committed, nil
	case Specific:
		v, ok := given.For(k)
		if !ok {
			return 0, fmt.Errorf("%s: %w: scan.bounded.specific-offsets has none for it", k, ErrStart)
		}
		return v, nil
	}
	return 0, fmt.Errorf("end mode %q is unknown", mode)
}

// ParseOffsets reads partition:0,offset:42;partition:1,offset:300, each of which may begin
// with topic:name.
func ParseOffsets(text string) (Offsets, error) {
	out := Offsets{}
	for _, part := range strings.Split(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		var k Key
		offset, seen := int64(0), []string{}
		for _, pair := range strings.Split(part, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), ":")
			var err error
			switch name {
			case "topic":
				k.Topic = value
			case "partition":
				var n int64
				n, err = strconv.ParseInt(value, 10, 32)
				k.Partition = int32(n)
			case "offset":
				offset, err = strconv.ParseInt(value, 10, 64)
			default:
				err = fmt.Errorf("%q is none of topic, partition, offset", name)
			}
			if err != nil || offset < 0 || k.Partition < 0 || slices.Contains(seen, name) {
				return nil, fmt.Errorf("%q can't be read", part)
			}
			seen = append(seen, name)
		}
		if !slices.Contains(seen, "partition") || !slices.Contains(seen, "offset") {
			return nil, fmt.Errorf("%q has no partition or no offset", part)
		}
		if _, twice := out[k]; twice {
			return nil, fmt.Errorf("%s is there twice", k)
		}
		out[k] = offset
	}
	if len(out) == 0 {
		return nil, errors.New("there are none")
	}
	return out, nil
}
