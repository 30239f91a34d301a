package binlog

import (
	"encoding/json"
	"testing"
)

func TestFiles(t *testing.T) {
	f := Files{Base: "mysql-bin", Delta: 7}
	pos, err := f.Position(Place{"mysql-bin.000003", 5 << 30})
	if err != nil || pos != 10<<40|5<<30 {
		t.Fatalf("%x, %v", pos, err)
	}
	if p := f.Place(pos); p != (Place{"mysql-bin.000003", 5 << 30}) || f.Format(pos) != "mysql-bin.000003:5368709120" {
		t.Fatal(p)
	}
	if got := f.Format(f.mustPosition(1234567, 4)); got != "mysql-bin.1234567:4" {
		t.Error(got)
	}
	for _, p := range []Place{{"other.000003", 4}, {"mysql-bin", 4}, {"mysql-bin.x", 4}, {".000001", 4}, {"mysql-bin.000003", 1 << 40}, {"mysql-bin.16777216", 4}, {"mysql-bin.-8", 4}} {
		if pos, err := f.Position(p); err == nil {
			t.Errorf("%s: %x", p, pos)
		}
	}
	if _, err := (Files{Base: "b", Delta: -5}).Position(Place{"b.000003", 4}); err == nil {
		t.Error("a position below 1")
	}
}

func (f Files) mustPosition(number, offset uint64) uint64 {
	pos, err := f.position(number, offset)
	if err != nil {
		panic(err)
	}
	return pos
}

// TestFollow: positions go on behind the last one, whatever the other server's
// files are called.
func TestFollow(t *testing.T) {
	old := Files{Base: "a"}
	after, _ := old.Position(Place{"a.000900", 12345})
	for _, name := range []string{"b.000001", "b.000900", "b.005000"} {
		f, err := Follow(name, after)
		if err != nil {
			t.Fatal(err)
		}
		pos, err := f.Position(Place{name, 4})
		if err != nil || pos <= after || pos>>40 != after>>40+1 {
			t.Errorf("%s: %x, %v", name, pos, err)
		}
	}
	data, err := json.Marshal(Files{Base: "b", Delta: -3, Number: 4, Born: 5})
	var f Files
	if err != nil || json.Unmarshal(data, &f) != nil || f != (Files{Base: "b", Delta: -3, Number: 4, Born: 5}) {
		t.Errorf("%s: %+v", data, f)
	}
}
