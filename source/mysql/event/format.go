package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// Checksum is the algorithm of the checksums in a file.
type Checksum byte

// The algorithms.
const (
	ChecksumNone  Checksum = 0
	ChecksumCRC32 Checksum = 1
)

// Format is a FORMAT_DESCRIPTION event: how the events behind it are written.
type Format struct {
	// ServerVersion is the version of the server that wrote the file.
	ServerVersion string
	// MariaDB says that it is a MariaDB server.
	MariaDB  bool
	Checksum Checksum
	// Created is when the server was started, in seconds since 1970, in the first
	// file of its life; 0 in all others.
	Created uint32
	// headerLengths are the lengths of the fixed parts of the bodies, by type - 1.
	headerLengths []byte
}

const (
	serverVersionSize = 50
	formatFixed       = 2 + serverVersionSize + 4 + 1
)

// ParseFormat reads the body of a FORMAT_DESCRIPTION.
func ParseFormat(body []byte) (*Format, error) {
	// The last byte names the checksum's algorithm; every server with a version
	// that is read here (MySQL 5.6, MariaDB 5.3 and newer) writes it.
	if len(body) < formatFixed+1 {
		return nil, corrupt(FormatType, "a cut body")
	}
	if v := binary.LittleEndian.Uint16(body); v != 4 {
		return nil, fmt.Errorf("%w: FORMAT_DESCRIPTION: binlog version %d, only 4 is known", ErrCorrupt, v)
	}
	version, _, _ := bytes.Cut(body[2:2+serverVersionSize], []byte{0})
	f := &Format{ServerVersion: string(version), Created: binary.LittleEndian.Uint32(body[2+serverVersionSize:])}
	f.MariaDB = strings.Contains(strings.ToLower(f.ServerVersion), "mariadb")
	if n := body[formatFixed-1]; n != HeaderSize {
		return nil, fmt.Errorf("%w: FORMAT_DESCRIPTION: headers of %d bytes", ErrCorrupt, n)
	}
	f.headerLengths = bytes.Clone(body[formatFixed : len(body)-1])
	f.Checksum = Checksum(body[len(body)-1])
	if f.Checksum != ChecksumNone && f.Checksum != ChecksumCRC32 {
		return nil, fmt.Errorf("%w: FORMAT_DESCRIPTION: checksum algorithm %d", ErrCorrupt, f.Checksum)
	}
	return f, nil
}

// formatBody cuts the checksum off a FORMAT_DESCRIPTION: the four bytes are there
// whatever the algorithm, and count where the algorithm is CRC32.
func formatBody(p []byte) ([]byte, error) {
	n := len(p) - checksumSize
	if n < HeaderSize+formatFixed+1 {
		return nil, corrupt(FormatType, "a cut body")
	}
	if Checksum(p[n-1]) == ChecksumCRC32 && !sealedFormat(p) {
		return nil, fmt.Errorf("%w (FORMAT_DESCRIPTION)", ErrChecksum)
	}
	return p[HeaderSize:n], nil
}

// sealedFormat is sealed for a FORMAT_DESCRIPTION, whose FlagInUse the server
// leaves out of the sum because it changes in place when the file is closed.
func sealedFormat(p []byte) bool {
	if sealed(p) {
		return true
	}
	n := len(p) - checksumSize
	flags := []byte{p[17] &^ byte(FlagInUse), p[18]}
	sum := crc32.ChecksumIEEE(p[:17])
	sum = crc32.Update(sum, crc32.IEEETable, flags)
	sum = crc32.Update(sum, crc32.IEEETable, p[HeaderSize:n])
	return sum == binary.LittleEndian.Uint32(p[n:])
}

// headerLength returns the length of the fixed part of events of type t, or
// otherwise where the file does not say.
func (f *Format) headerLength(t Type, otherwise int) int {
	if f == nil || t == 0 || int(t) > len(f.headerLengths) {
		return otherwise
	}
	return int(f.headerLengths[t-1])
}
