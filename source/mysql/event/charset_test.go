package event

import (
	"slices"
	"testing"
)

// TestCollations: a VECTOR has a collation in MySQL's events, a geometry in MariaDB's.
func TestCollations(t *testing.T) {
	types := []byte{columnVector, columnGeometry, columnBlob, columnBlob}
	perColumn := func(c ...byte) []byte { return append([]byte{metaColumnCharset, byte(len(c))}, c...) }
	withDefault := func(c ...byte) []byte { return append([]byte{metaDefaultCharset, byte(len(c))}, c...) }
	for name, c := range map[string]struct {
		types    []byte
		mariadb  bool
		optional []byte
		want     []uint16
	}{
		"mysql, each":       {types, false, perColumn(63, 8, 28), []uint16{0, 0, 8, 28}},
		"mysql, default":    {types, false, withDefault(8, 0, 63, 2, 28), []uint16{0, 0, 8, 28}},
		"mariadb, each":     {types[1:], true, perColumn(63, 8, 28), []uint16{0, 8, 28}},
		"mariadb, default":  {types[1:], true, withDefault(63, 1, 8, 2, 28), []uint16{0, 8, 28}},
		"no such column":    {types[1:], false, withDefault(8, 2, 28), nil},
		"mysql, a geometry": {types[1:], false, perColumn(8, 28), []uint16{0, 8, 28}},
	} {
		e := &TableMap{Types: c.types, Metas: make([]uint16, len(c.types)), Optional: c.optional, mariadb: c.mariadb}
		m, err := e.Metadata()
		switch {
		case c.want == nil && err == nil:
			t.Errorf("%s: passed", name)
		case c.want != nil && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != nil && !slices.Equal(m.Collations, c.want):
			t.Errorf("%s: %v, want %v", name, m.Collations, c.want)
		}
	}
}
