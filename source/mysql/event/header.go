package event

import (
	"encoding/binary"
	"hash/crc32"
)

// HeaderSize is the length of the header of every event.
const HeaderSize = 19

// checksumSize is the length of the CRC32 behind an event.
const checksumSize = 4

// Flags are the flags of a header.
type Flags uint16

// The flags that matter here.
const (
	FlagInUse Flags = 0x0001 // FORMAT_DESCRIPTION: the file was not closed
	// FlagThreadSpecific: the statement uses temporary tables.
	FlagThreadSpecific Flags = 0x0004
	// FlagArtificial: made for this connection, not part of the file.
	FlagArtificial Flags = 0x0020
	// FlagIgnorable: a reader that does not know the type may skip the event.
	FlagIgnorable Flags = 0x0080
)

// Header is the header of an event.
type Header struct {
	// Timestamp is when the statement began, in seconds since 1970; 0 in
	// artificial events.
	Timestamp uint32
	Type      Type
	ServerID  uint32
	// Size is that of the whole event, with header and checksum.
	Size uint32
	// LogPos is the end of the event in its file modulo 2^32; 0 where the event
	// is not part of the file.
	LogPos uint32
	Flags  Flags
}

// ParseHeader reads the header at the start of p, which may go on behind it.
func ParseHeader(p []byte) (Header, error) {
	if len(p) < HeaderSize {
		return Header{}, corrupt(0, "a cut header")
	}
	h := Header{
		Timestamp: binary.LittleEndian.Uint32(p),
		Type:      Type(p[4]),
		ServerID:  binary.LittleEndian.Uint32(p[5:]),
		Size:      binary.LittleEndian.Uint32(p[9:]),
		LogPos:    binary.LittleEndian.Uint32(p[13:]),
		Flags:     Flags(binary.LittleEndian.Uint16(p[17:])),
	}
	if h.Size < HeaderSize {
		return Header{}, corrupt(h.Type, "a size below that of the header")
	}
	return h, nil
}

// Artificial reports whether the event was made for this connection.
func (h Header) Artificial() bool { return h.Flags&FlagArtificial != 0 }

// Check returns an UnknownTypeError unless the type is known or ignorable.
func (h Header) Check() error {
	if h.Type.Known() || h.Flags&FlagIgnorable != 0 {
		return nil
	}
	return &UnknownTypeError{Type: h.Type, LogPos: h.LogPos}
}

// Body returns what lies between the header of the event p and its checksum,
// which it verifies. f is nil before the first FORMAT_DESCRIPTION.
func (f *Format) Body(h Header, p []byte) ([]byte, error) {
	if uint64(h.Size) != uint64(len(p)) {
		return nil, corrupt(h.Type, "the size in the header is not that of the event")
	}
	switch {
	case h.Type == FormatType:
		return formatBody(p)
	case h.Type == RotateType && h.Artificial() && h.LogPos == 0, f == nil:
		// The server's present setting decides, not that of the file before.
		if sealed(p) {
			p = p[:len(p)-checksumSize]
		}
	case f.Checksum == ChecksumCRC32:
		if !sealed(p) {
			return nil, ErrChecksum
		}
		p = p[:len(p)-checksumSize]
	}
	return p[HeaderSize:], nil
}

// sealed reports whether p ends with its own CRC32.
func sealed(p []byte) bool {
	n := len(p) - checksumSize
	return n >= HeaderSize && crc32.ChecksumIEEE(p[:n]) == binary.LittleEndian.Uint32(p[n:])
}
