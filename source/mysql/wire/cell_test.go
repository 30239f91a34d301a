package wire

import (
	"bytes"
	"errors"
	"testing"
)

func TestNextCell(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 70_000)
	huge := bytes.Repeat([]byte("y"), 1<<24)
	var row []byte
	cells := [][]byte{[]byte("a"), {}, nil, long[:250], long[:251], long[:65535], long, huge}
	for _, c := range cells {
		if c == nil {
			row = append(row, 0xfb)
			continue
		}
		row = appendLenenc(row, c)
	}
	rest := row
	for i, want := range cells {
		cell, null, after, err := NextCell(rest)
		if err != nil {
			t.Fatal(i, err)
		}
		if null != (want == nil) || !bytes.Equal(cell, want) {
			t.Errorf("cell %d differs", i)
		}
		rest = after
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes left", len(rest))
	}
}

func TestNextCellCut(t *testing.T) {
	for _, row := range [][]byte{{}, {1}, {250, 'x'}, {0xfc}, {0xfc, 1}, {0xfc, 1, 0}, {0xfd, 1, 0}, {0xfe, 1, 0, 0, 0, 0, 0, 0},
		{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 'x'}, {0xff}} {
		if _, _, _, err := NextCell(row); !errors.Is(err, ErrProtocol) {
			t.Errorf("%x: %v", row, err)
		}
	}
}
