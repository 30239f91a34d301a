package event

import (
	"errors"
	"fmt"
)

// ErrCorrupt is wrapped by every error about bytes that are no well-formed event.
var ErrCorrupt = errors.New("corrupt binlog event")

// ErrChecksum is an event whose CRC32 does not fit; it wraps ErrCorrupt.
var ErrChecksum = fmt.Errorf("%w: wrong checksum", ErrCorrupt)

// ErrTooLarge is compressed data that is larger than allowed when unpacked.
var ErrTooLarge = errors.New("compressed binlog event is too large when unpacked")

// ErrUnknownType is wrapped by every UnknownTypeError.
var ErrUnknownType = errors.New("unknown type of binlog event")

// UnknownTypeError is an event of a type that this package does not know and that
// its server does not mark as ignorable.
type UnknownTypeError struct {
	Type Type
	// LogPos is the end of the event in its file, modulo 2^32.
	LogPos uint32
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("%v: type %d, which ends at %d", ErrUnknownType, byte(e.Type), e.LogPos)
}

func (e *UnknownTypeError) Unwrap() error { return ErrUnknownType }

// corrupt makes an error about an event of type t.
func corrupt(t Type, what string) error { return fmt.Errorf("%w: %s: %s", ErrCorrupt, t, what) }
