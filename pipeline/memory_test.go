package pipeline

import "testing"

// TestLimitFor: the limit holds while there is room below it, and gives way before the
// collector has to run all the time.
func TestLimitFor(t *testing.T) {
	for live, want := range map[uint64]int64{0: memoryLimit, 150 << 20: memoryLimit, 250 << 20: 350 << 20, 1000 << 20: 1400 << 20} {
		if got := limitFor(live); got != want {
			t.Errorf("%d bytes alive: %d, want %d", live, got, want)
		}
	}
}
