package binlog

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseGTIDSet reads a set in either server's text: what @@gtid_executed or
// @@gtid_binlog_pos prints. The empty text is the empty set.
func ParseGTIDSet(text string) (*GTIDSet, error) {
	s := &GTIDSet{}
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		var err error
		switch {
		case part == "":
		case strings.Contains(part, ":"):
			err = s.parseMySQL(part)
		default:
			err = s.parseMaria(part)
		}
		if err != nil {
			return nil, fmt.Errorf("GTID set %q: %w", shorten(text), err)
		}
	}
	if len(s.sources) > 0 && len(s.domains) > 0 {
		return nil, fmt.Errorf("GTID set %q: GTIDs of MySQL and MariaDB in one set", shorten(text))
	}
	return s, nil
}

// ParseGTID reads one GTID in either server's text.
func ParseGTID(text string) (GTID, error) {
	s, err := ParseGTIDSet(text)
	if err != nil {
		return GTID{}, err
	}
	for src, runs := range s.sources {
		if len(s.sources) == 1 && len(runs) == 1 && runs[0].first == runs[0].last {
			return GTID{Source: src, Number: runs[0].first}, nil
		}
	}
	for id, d := range s.domains {
		if len(s.domains) == 1 && len(d.last) == 1 {
			return GTID{Domain: id, Server: d.server, Number: d.last[d.server]}, nil
		}
	}
	return GTID{}, fmt.Errorf("%q is no GTID", shorten(text))
}

func shorten(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// parseMySQL reads uuid:1-5:7:tag:1-3.
func (s *GTIDSet) parseMySQL(text string) error {
	parts := strings.Split(text, ":")
	uuid, err := ParseUUID(strings.TrimSpace(parts[0]))
	if err != nil {
		return err
	}
	src := Source{UUID: uuid}
	open := true // a tag, or the UUID, needs an interval
	for _, p := range parts[1:] {
		p = strings.TrimSpace(p)
		if p == "" || p[0] < '0' || p[0] > '9' {
			if src.Tag, err = parseTag(p); err != nil {
				return err
			}
			open = true
			continue
		}
		iv, err := parseInterval(p)
		if err != nil {
			return err
		}
		open = false
		if iv.first <= iv.last { // the servers take an empty interval for nothing
			s.addInterval(src, iv)
		}
	}
	if open {
		return fmt.Errorf("%q ends without a number", shorten(text))
	}
	return nil
}

func parseInterval(text string) (interval, error) {
	const most = 1<<63 - 2 // what MySQL gives at most
	first, last, ranged := strings.Cut(text, "-")
	a, err := strconv.ParseUint(strings.TrimSpace(first), 10, 63)
	b := a
	if err == nil && ranged {
		b, err = strconv.ParseUint(strings.TrimSpace(last), 10, 63)
	}
	if err != nil || a == 0 || b > most {
		return interval{}, fmt.Errorf("%q is no interval", text)
	}
	return interval{a, b}, nil
}

// parseMaria reads domain-server-number.
func (s *GTIDSet) parseMaria(text string) error {
	parts := strings.Split(text, "-")
	if len(parts) != 3 {
		return fmt.Errorf("%q is no GTID", text)
	}
	var n [3]uint64
	for i, bits := range []int{32, 32, 64} {
		var err error
		if n[i], err = strconv.ParseUint(strings.TrimSpace(parts[i]), 10, bits); err != nil {
			return fmt.Errorf("%q is no GTID", text)
		}
	}
	g := GTID{Domain: uint32(n[0]), Server: uint32(n[1]), Number: n[2]}
	if g.IsZero() {
		return fmt.Errorf("%q is no GTID", text)
	}
	s.addMaria(g)
	return nil
}
