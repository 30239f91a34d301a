package txn

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// seeds is how many worlds a test plays; TXN_SEEDS asks for others.
func seeds(n uint64) uint64 {
	if s, err := strconv.ParseUint(os.Getenv("TXN_SEEDS"), 10, 64); err == nil {
		return s
	}
	return n
}

// TestCrashes plays pipelines that crash, pause, lose answers and meet time-outs, on
// brokers of both versions: in the end each record is visible once, in order, and never
// is one visible that comes out of order or twice.
func TestCrashes(t *testing.T) {
	for _, v := range []Version{V1, V2} {
		t.Run(fmt.Sprintf("V%d", v), func(t *testing.T) {
			restarts, lost := 0, 0
			for seed := range seeds(300) {
				w := newWorld(seed, v, "")
				if err := w.play(); err != nil {
					t.Fatalf("seed %d, %d restarts: %v", seed, w.restarts, err)
				}
				restarts, lost = restarts+w.restarts, lost+w.lost
			}
			t.Logf("%d restarts, %d lost transactions", restarts, lost)
			if restarts == 0 || lost == 0 {
				t.Error("nothing has happened")
			}
		})
	}
}

// TestSabotage leaves one step of the protocol out: the same worlds must notice.
func TestSabotage(t *testing.T) {
	for _, c := range []struct {
		broken  sabotage
		version Version
	}{{trust, V2}, {trust, V1}, {blind, V2}, {blind, V1}, {reuse, V1}, {early, V2}, {hope, V1}, {hope, V2}, {onward, V2}, {torn, V2}} {
		t.Run(fmt.Sprintf("V%d/%s", c.version, c.broken), func(t *testing.T) {
			for seed := range uint64(300) {
				w := newWorld(seed, c.version, c.broken)
				if err := caught(w.play); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("nobody has noticed")
		})
	}
}

// TestNoNeedlessLoss: where nothing times out and the dead stay dead, no transaction
// that is prepared is ever lost. Fencing what is prepared would lose it.
func TestNoNeedlessLoss(t *testing.T) {
	for _, v := range []Version{V1, V2} {
		for _, broken := range []sabotage{"", fence} {
			lost := 0
			for seed := range uint64(100) {
				w := newWorld(seed, v, broken)
				w.mild, w.b.timeout = true, 1<<40
				if err := w.play(); err != nil {
					t.Fatalf("V%d, seed %d: %v", v, seed, err)
				}
				lost += w.lost
			}
			if (lost > 0) != (broken == fence) {
				t.Errorf("V%d, %q: %d transactions are lost", v, broken, lost)
			}
		}
	}
}

// caught turns a panic about an input out of order, to which a broken protocol may
// lead, into an error.
func caught(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return fn()
}

func TestState(t *testing.T) {
	want := []Committable{{Checkpoint: 7, Position: 1 << 63, ID: "p-0", ProducerID: 12, Epoch: 3, Version: V2}, {Checkpoint: 8, ID: "p-1", Version: V1}}
	b, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(b)
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Decode(nil); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"{", `{"version":2}`, `{"version":1,"pending":[{}]}`, `{"version":1,"pending":[{"id":"p-0","version":3}]}`} {
		if got, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%s gave %v", bad, got)
		}
	}
}
