package state

import (
	"fmt"
	"slices"
	"testing"
)

func TestBatchOps(t *testing.T) {
	var b Batch
	for round := range 2 {
		b.Set([]byte("a"), []byte("1"))
		b.Delete([]byte("bb"))
		b.DeleteRange([]byte("c"), []byte("dd"))
		b.Set([]byte("e"), nil)
		var got []string
		for op := range b.Ops() {
			got = append(got, fmt.Sprintf("%d %s %s", op.Kind, op.Key, op.Value))
		}
		if want := []string{"0 a 1", "1 bb ", "2 c dd", "0 e "}; !slices.Equal(got, want) {
			t.Errorf("round %d: %q", round, got)
		}
		if b.Len() != 4 || b.Bytes() != 8 {
			t.Errorf("round %d: %d operations, %d bytes", round, b.Len(), b.Bytes())
		}
		for op := range b.Ops() { // slices can't be appended into what follows
			_ = append(op.Key, 'x')
			break
		}
		if next := slices.Collect(b.Ops())[1]; string(next.Key) != "bb" {
			t.Errorf("an append to a key changed the next: %q", next.Key)
		}
		b.Reset()
		if b.Len() != 0 {
			t.Error("not empty after Reset")
		}
	}
}

func TestFileLabel(t *testing.T) {
	for in, want := range map[string]string{
		"sink": "sink", "sink: a/b ü": "sink__a_b__", "": "_", "..": "_..",
		"0123456789012345678901234567890123456789xyz": "0123456789012345678901234567890123456789",
	} {
		if got := FileLabel(in); got != want {
			t.Errorf("FileLabel(%q) = %q, want %q", in, got, want)
		}
	}
}
