package event

import (
	"slices"
	"testing"
)

// TestSigns: a YEAR has a bit or not, as the server likes.
func TestSigns(t *testing.T) {
	const intType, year = 3, columnYear
	nine := []byte{intType, intType, intType, intType, intType, intType, intType, intType, year}
	for name, c := range map[string]struct {
		types []byte
		bits  []byte
		want  []bool
	}{
		"none":         {[]byte{intType, intType}, []byte{0b0100_0000}, []bool{false, true}},
		"same":         {[]byte{intType, intType, year}, []byte{0b0100_0000}, []bool{false, true, false}},
		"last, with":   {[]byte{intType, year}, []byte{0b0100_0000}, []bool{false, false}},
		"either":       {[]byte{intType, year, intType}, []byte{0b0110_0000}, []bool{false, false, true}},
		"disagree":     {[]byte{intType, year, intType}, []byte{0b0100_0000}, nil},
		"signed alone": {[]byte{intType, year, intType}, []byte{0}, []bool{false, false, false}},
		"too short":    {nine, []byte{0b1000_0000}, []bool{true, false, false, false, false, false, false, false, false}},
		"long enough":  {nine, []byte{0b1000_0000, 0b1000_0000}, []bool{true, false, false, false, false, false, false, false, false}},
	} {
		e := &TableMap{Types: c.types, Metas: make([]uint16, len(c.types)), Optional: append([]byte{metaSignedness, byte(len(c.bits))}, c.bits...)}
		m, err := e.Metadata()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(m.Unsigned, c.want) {
			t.Errorf("%s: %v, want %v", name, m.Unsigned, c.want)
		}
	}
	if _, err := (&TableMap{Types: nine, Metas: make([]uint16, 9), Optional: []byte{metaSignedness, 0}}).Metadata(); err == nil {
		t.Error("no bits at all passed")
	}
}
