package snapshot

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Place is a place in the binlog, as the server names it.
type Place struct {
	File   string `json:"file"`
	Offset uint64 `json:"offset"`
}

// String prints the place as file:offset.
func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Offset) }

// IsZero reports whether p is no place.
func (p Place) IsZero() bool { return p.File == "" }

// compare orders places of one server: -1, 0 or 1. Numbers of files may grow by a
// digit (binlog.999999 comes before binlog.1000000); another name before the number
// is an error, for nothing says which file came first.
func (p Place) compare(q Place) (int, error) {
	base, number := splitFile(p.File)
	otherBase, otherNumber := splitFile(q.File)
	if base != otherBase {
		return 0, fmt.Errorf("%w: %s and %s", errOtherLog, p.File, q.File)
	}
	return cmp.Or(cmp.Compare(len(number), len(otherNumber)), cmp.Compare(number, otherNumber), cmp.Compare(p.Offset, q.Offset)), nil
}

// splitFile cuts the number off a file's name, without zeros in front.
func splitFile(name string) (base, number string) {
	dot := strings.LastIndexByte(name, '.')
	return name[:dot+1], strings.TrimLeft(name[dot+1:], "0")
}

// statusPlace reads the answer to SHOW BINARY LOG STATUS or SHOW MASTER STATUS.
func statusPlace(r *wire.Result) (Place, error) {
	if len(r.Rows) != 1 {
		return Place{}, errNoLog
	}
	return placeOf(r.Value(0, "File"), r.Value(0, "Position"))
}

func placeOf(file, offset wire.Value) (Place, error) {
	n, err := offset.Uint()
	if err != nil || file.String() == "" {
		return Place{}, fmt.Errorf("%w: file %q, position %q", errNoLog, file, offset)
	}
	return Place{File: file.String(), Offset: n}, nil
}
