package sortedfile

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/freshet-cdc/freshet/runtime/state"
)

// sample writes n entries, some of them larger than a block.
func sample(t testing.TB, n int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for i := range n {
		if err := w.Add(fmt.Appendf(nil, "\x00\x01key-%05d", i), bytes.Repeat([]byte{byte(i)}, i*i%9000)); err != nil {
			t.Fatal(err)
		}
	}
	size, err := w.Finish()
	if err != nil || size != int64(buf.Len()) {
		t.Fatalf("%d bytes, not %d: %v", size, buf.Len(), err)
	}
	return buf.Bytes()
}

// read returns the number of entries and the error.
func read(data []byte) (int, error) {
	r := NewReader(bytes.NewReader(data))
	for n := 0; ; n++ {
		if _, _, ok := r.Next(); !ok {
			return n, r.Err()
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 500} {
		r := NewReader(bytes.NewReader(sample(t, n)))
		for i := range n {
			k, v, ok := r.Next()
			if !ok || string(k) != fmt.Sprintf("\x00\x01key-%05d", i) || !bytes.Equal(v, bytes.Repeat([]byte{byte(i)}, i*i%9000)) {
				t.Fatalf("entry %d of %d: %q, %d bytes, %v (%v)", i, n, k, len(v), ok, r.Err())
			}
		}
		for range 2 {
			if _, _, ok := r.Next(); ok || r.Err() != nil {
				t.Fatalf("after the end: %v, %v", ok, r.Err())
			}
		}
	}
}

func TestDamage(t *testing.T) {
	good := sample(t, 300)
	for at := 0; at < len(good); at += 1 + at/50 {
		if n, err := read(good[:at]); !errors.Is(err, state.ErrCorrupt) {
			t.Fatalf("cut at %d: %d entries, %v", at, n, err)
		}
		bad := bytes.Clone(good)
		bad[at] ^= 0x10
		if n, err := read(bad); !errors.Is(err, state.ErrCorrupt) {
			t.Fatalf("changed at %d: %d entries, %v", at, n, err)
		}
	}
}

func TestUnordered(t *testing.T) {
	w := NewWriter(&bytes.Buffer{})
	for _, k := range []string{"b", "b"} {
		_ = w.Add([]byte(k), nil)
	}
	if _, err := w.Finish(); !errors.Is(err, state.ErrUnordered) {
		t.Errorf("same key twice: %v", err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample(f, 3))
	f.Add([]byte(header))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := read(data); err != nil && !errors.Is(err, state.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}
