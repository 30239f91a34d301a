package binlog

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// GTID identifies a transaction. The zero value is none: the server has GTIDs off.
// GTIDs are comparable.
type GTID struct {
	// Source is MySQL's server and tag; its zero value means that the GTID is
	// MariaDB's.
	Source Source
	// Domain and Server are MariaDB's.
	Domain, Server uint32
	// Number counts within Source, or within Domain.
	Number uint64
}

// Source is whatever numbers transactions in MySQL: a server, and a tag within it.
type Source struct {
	UUID event.UUID
	Tag  string
}

// IsZero reports whether there is no GTID.
func (g GTID) IsZero() bool { return g == GTID{} }

// String prints the GTID as its server does: uuid:5, uuid:tag:5 or 0-1-5.
func (g GTID) String() string {
	if g.IsZero() {
		return ""
	}
	if g.Source == (Source{}) {
		return fmt.Sprintf("%d-%d-%d", g.Domain, g.Server, g.Number)
	}
	return g.Source.String() + ":" + strconv.FormatUint(g.Number, 10)
}

// String prints uuid or uuid:tag.
func (s Source) String() string {
	if s.Tag == "" {
		return formatUUID(s.UUID)
	}
	return formatUUID(s.UUID) + ":" + s.Tag
}

func formatUUID(u event.UUID) string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseUUID reads a server_uuid, with or without dashes and braces, as MySQL does.
func ParseUUID(text string) (event.UUID, error) {
	var u event.UUID
	digits := strings.ReplaceAll(strings.Trim(text, "{}"), "-", "")
	if len(digits) == 2*len(u) {
		if _, err := hex.Decode(u[:], []byte(digits)); err == nil {
			return u, nil
		}
	}
	return u, fmt.Errorf("%q is no UUID", text)
}

// maxTag is the longest tag.
const maxTag = 32

// parseTag checks a tag, which is kept in lower case.
func parseTag(text string) (string, error) {
	tag := strings.ToLower(text)
	if len(tag) == 0 || len(tag) > maxTag {
		return "", fmt.Errorf("%q is no tag of a GTID", text)
	}
	for i, c := range []byte(tag) {
		letter := c == '_' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return "", fmt.Errorf("%q is no tag of a GTID", text)
		}
	}
	return tag, nil
}
