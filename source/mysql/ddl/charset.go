package ddl

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
)

// charsetPair is a character set and one of its collations.
type charsetPair struct{ charset, collation string }

// collationPair returns a collation with its character set.
func collationPair(name string) charsetPair {
	return charsetPair{collation.Charset(name), collation.Canonical(name)}
}

// resolver finds what a statement leaves to the server.
type resolver struct {
	o Options
	s Statement
}

// collationOf returns the collation that a character set has in the statement's
// session where none is given.
func (r resolver) collationOf(charset string) string {
	if !r.o.MariaDB {
		if charset == "utf8mb4" && r.s.UTF8MB4Collation != 0 {
			if name := collation.Name(r.s.UTF8MB4Collation, false); name != "" {
				return name
			}
		}
		return collation.Default(charset, false)
	}
	own := collation.Default(charset, true)
	if r.s.CharsetCollations == nil {
		for pair := range strings.SplitSeq(r.o.CharsetCollations, ",") {
			if of, name, ok := strings.Cut(pair, "="); ok && collation.Canonical(strings.TrimSpace(of)) == charset {
				return collation.Canonical(strings.TrimSpace(name))
			}
		}
		return own
	}
	for p := r.s.CharsetCollations; len(p) >= charsetPairBytes; p = p[charsetPairBytes:] {
		if collation.Name(binary.LittleEndian.Uint16(p), true) == own {
			if name := collation.Name(binary.LittleEndian.Uint16(p[2:]), true); name != "" {
				return name
			}
		}
	}
	return own
}

// server returns the server's default, for databases that don't say another.
func (r resolver) server() charsetPair {
	name := collation.Name(r.s.ServerCollation, r.o.MariaDB)
	if name == "" {
		name = r.o.ServerCollation
	}
	if name == "" {
		return charsetPair{"utf8mb4", r.collationOf("utf8mb4")}
	}
	return collationPair(name)
}

// pair returns what CHARACTER SET charset COLLATE name means, each of which may
// be missing, where base is the default and parent that of DEFAULT.
func (r resolver) pair(charset, name string, base, parent charsetPair) (charsetPair, error) {
	out := base
	switch charset = collation.Canonical(charset); {
	case charset == "":
	case charset == "default" && r.o.MariaDB: // with the collation that the set has as built
		out = charsetPair{parent.charset, collation.Default(parent.charset, true)}
	case charset == "default":
		out = parent
	case charset == "national":
		out = charsetPair{"utf8mb3", r.collationOf("utf8mb3")}
	case collation.Known(charset):
		out = charsetPair{charset, r.collationOf(charset)}
	default:
		return out, fmt.Errorf("the character set %q is not known", charset)
	}
	switch name = collation.Canonical(name); {
	case name == "":
	case name == "default":
		out.collation = r.collationOf(out.charset)
	case collation.Charset(name) != "":
		out = collationPair(name)
	case out.charset != "": // MariaDB's short names
		out.collation = out.charset + "_" + name
	default:
		return out, fmt.Errorf("the collation %q is not known", name)
	}
	return out, nil
}
