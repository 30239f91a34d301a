package binlog

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is a byte offset in a binlog file, as the server names it.
type Place struct {
	File   string `json:"file"`
	Offset uint64 `json:"offset"`
}

// String prints binlog.000003:1234.
func (p Place) String() string { return p.File + ":" + strconv.FormatUint(p.Offset, 10) }

// FirstOffset is where the first event of every file begins.
const FirstOffset = 4

// A position is the number of a file and an offset in it, so that positions grow
// along the log and compare as numbers.
const (
	offsetBits = 40
	maxOffset  = 1<<offsetBits - 1
	maxFile    = 1<<(64-offsetBits) - 1
)

// Files turns places into positions. A position's file number is that of the
// server plus Delta, which grows when another server takes over, for instance,
// whose numbers may be lower: positions never go back. It is kept in the checkpoint.
type Files struct {
	// Base is what the names begin with, in front of the number.
	Base  string `json:"base"`
	Delta int64  `json:"delta,omitempty"`
	// Number and Born identify the newest file that was read: its number at the
	// server, and when it was begun, in seconds since 1970. A server whose binlog was
	// reset has other files under the same names.
	Number uint64 `json:"number,omitempty"`
	Born   uint32 `json:"born,omitempty"`
}

// ParseFile takes the name of a binlog file apart.
func ParseFile(name string) (base string, number uint64, err error) {
	dot := strings.LastIndexByte(name, '.')
	if dot > 0 {
		number, err = strconv.ParseUint(name[dot+1:], 10, 63)
	}
	if dot <= 0 || err != nil {
		return "", 0, fmt.Errorf("%q is no name of a binlog file", name)
	}
	return name[:dot], number, nil
}

// Position returns the position of a place.
func (f Files) Position(p Place) (uint64, error) {
	base, number, err := ParseFile(p.File)
	if err != nil {
		return 0, err
	}
	if base != f.Base {
		return 0, fmt.Errorf("binlog file %s: the files were called %s.NNNNNN so far", p.File, f.Base)
	}
	return f.position(number, p.Offset)
}

func (f Files) position(number, offset uint64) (uint64, error) {
	n := int64(number) + f.Delta
	if n < 1 || n > maxFile || offset > maxOffset {
		return 0, fmt.Errorf("binlog file number %d (counted as %d), offset %d: out of the range of positions", number, n, offset)
	}
	return uint64(n)<<offsetBits | offset, nil
}

// Place returns the place of a position.
func (f Files) Place(pos uint64) Place {
	return Place{File: fmt.Sprintf("%s.%06d", f.Base, int64(pos>>offsetBits)-f.Delta), Offset: pos & maxOffset}
}

// Format prints a position as the server's users know it.
func (f Files) Format(pos uint64) string { return f.Place(pos).String() }

// Follow returns the Files under which a file called name comes right behind
// position after: for another server, or after its binlog was reset.
func Follow(name string, after uint64) (Files, error) {
	base, number, err := ParseFile(name)
	if err != nil {
		return Files{}, err
	}
	return Files{Base: base, Delta: int64(after>>offsetBits) + 1 - int64(number)}, nil
}

// at returns the position of an offset in the newest file, whose number and offset
// were checked.
func (f Files) at(offset uint64) uint64 {
	return uint64(int64(f.Number)+f.Delta)<<offsetBits | offset
}
