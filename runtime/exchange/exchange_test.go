package exchange

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// five is as large as the records of the benchmarks.
type five struct {
	a int64
	_ [4]int64
}

// consume takes everything until all inputs have ended.
func consume[T any](ctx context.Context, g *Gate[T], use func(input int, elem T), mark func(input int, m Mark)) error {
	ended := 0
	for ended < g.Inputs() {
		in := g.Poll()
		if in == nil {
			if err := g.Wait(ctx); err != nil {
				return err
			}
			continue
		}
		for elem, ok := in.Take(); ok; elem, ok = in.Take() {
			use(in.Index, elem)
		}
		if m, ok := in.TakeMark(); ok {
			if m.Kind == End {
				ended++
			} else if mark != nil {
				mark(in.Index, m)
			}
		}
	}
	return nil
}

func TestOrderAndMarks(t *testing.T) {
	ctx := t.Context()
	const inputs, n = 3, 20_000
	g := NewGate[int](inputs, Limits{Elements: 16})
	var wg sync.WaitGroup
	for i := range inputs {
		wg.Go(func() {
			w := g.Writer(i)
			for v := range n {
				if v%100 == 0 {
					w.Mark(Mark{Kind: Barrier, Value: int64(v)})
				}
				if err := w.Put(ctx, v); err != nil {
					t.Error(err)
				}
			}
			w.Mark(Mark{Kind: End})
		})
	}
	var next, marks [inputs]int
	err := consume(ctx, g, func(i, v int) {
		if v != next[i] {
			t.Fatalf("input %d: got %d, want %d", i, v, next[i])
		}
		next[i]++
	}, func(i int, m Mark) {
		if int(m.Value) != next[i] {
			t.Fatalf("input %d: barrier %d before element %d", i, m.Value, next[i])
		}
		marks[i]++
	})
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for i := range inputs {
		if next[i] != n || marks[i] != n/100 {
			t.Errorf("input %d: %d elements, %d marks", i, next[i], marks[i])
		}
	}
}

func TestBackPressureAndBlock(t *testing.T) {
	ctx := t.Context()
	g := NewGate[int](2, Limits{Elements: 10})
	var put atomic.Int64
	done := make(chan error, 1)
	go func() {
		w := g.Writer(0)
		w.Blocked = new(atomic.Int64)
		for v := range 100 {
			if err := w.Put(ctx, v); err != nil {
				done <- err
				return
			}
			put.Add(1)
		}
		if w.Blocked.Load() == 0 {
			done <- errors.New("time spent blocked was not counted")
			return
		}
		done <- nil
	}()
	waitFor(t, func() bool { return put.Load() == 10 })
	time.Sleep(10 * time.Millisecond)
	if n := put.Load(); n != 10 {
		t.Fatalf("a full queue took %d elements", n)
	}
	g.Block(0)
	if in := g.Poll(); in != nil {
		t.Fatalf("Poll returned blocked input %d", in.Index)
	}
	g.Writer(1).Mark(Mark{Kind: Barrier, Value: 7})
	if in := g.Poll(); in == nil || in.Index != 1 {
		t.Fatal("the other input must go on")
	} else if m, ok := in.TakeMark(); !ok || m.Value != 7 {
		t.Fatalf("mark %v %v", m, ok)
	}
	g.Unblock(0)
	for n := 0; n < 100; {
		in := g.Poll()
		if in == nil {
			if err := g.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for v, ok := in.Take(); ok; v, ok = in.Take() {
			if v != n {
				t.Fatalf("got %d, want %d", v, n)
			}
			n++
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

type heavy struct {
	bytes    int
	released *atomic.Int64
}

func (h heavy) Release()           { h.released.Add(1) }
func (h heavy) Weight() (int, int) { return 1, h.bytes }

func TestWeightBoundsAndDrainReleases(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	g := NewGate[heavy](1, Limits{Elements: 100, Bytes: 1000})
	w := g.Writer(0)
	var released atomic.Int64
	for range 2 {
		if err := w.Put(ctx, heavy{bytes: 600, released: &released}); err != nil {
			t.Fatal(err)
		}
	}
	failed := make(chan error)
	go func() { failed <- w.Put(ctx, heavy{bytes: 1, released: &released}) }()
	select {
	case err := <-failed:
		t.Fatalf("Put beyond the weight returned %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if n := released.Load(); n != 1 {
		t.Fatalf("a refused element must be released: %d", n)
	}
	if in := g.Poll(); in == nil {
		t.Fatal("nothing to poll")
	} else if _, ok := in.Take(); !ok {
		t.Fatal("nothing to take")
	} // taken: ours
	if err := w.Put(t.Context(), heavy{bytes: 1, released: &released}); err != nil {
		t.Fatal(err)
	}
	g.Drain()
	if n := released.Load(); n != 3 {
		t.Fatalf("Drain must release what was taken in a batch and what is queued: %d of 3", n)
	}
	if err := w.Put(t.Context(), heavy{released: &released}); !errors.Is(err, ErrClosed) {
		t.Fatalf("Put after Close: %v", err)
	}
}

func TestCloseWakesBothEnds(t *testing.T) {
	g := NewGate[int](2, Limits{Elements: 1})
	errs := make(chan error, 2)
	go func() {
		w := g.Writer(0)
		for {
			if err := w.Put(context.Background(), 1); err != nil {
				errs <- err
				return
			}
		}
	}()
	go func() {
		g.Block(0)
		for { // a wake-up from before the input was blocked is no error
			if err := g.Wait(context.Background()); err != nil {
				errs <- err
				return
			}
		}
	}()
	time.Sleep(5 * time.Millisecond)
	g.Close()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// TestNoLatencyWhenIdle sends single elements to a waiting consumer: each has to
// arrive without a successor that pushes it.
func TestNoLatencyWhenIdle(t *testing.T) {
	g := NewGate[time.Time](1, Limits{})
	arrived := make(chan time.Duration)
	go consume(t.Context(), g, func(_ int, sent time.Time) { arrived <- time.Since(sent) }, nil)
	w := g.Writer(0)
	var worst time.Duration
	for range 50 {
		if err := w.Put(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		select {
		case d := <-arrived:
			worst = max(worst, d)
		case <-time.After(time.Minute):
			t.Fatal("the element never arrived")
		}
	}
	w.Mark(Mark{Kind: End})
	t.Logf("worst latency %v", worst)
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("condition not reached in 5 s")
		}
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, limit := range []int{256, 1024, 4096} {
		b.Run(strconv.Itoa(limit), func(b *testing.B) {
			g := NewGate[five](1, Limits{Elements: limit})
			done := make(chan error)
			var sum int64
			go func() {
				done <- consume(context.Background(), g, func(_ int, f five) { sum += f.a }, nil)
			}()
			w := g.Writer(0)
			ctx := context.Background()
			for i := 0; b.Loop(); i++ {
				w.Put(ctx, five{a: int64(i)})
			}
			w.Mark(Mark{Kind: End})
			<-done
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrec/s")
		})
	}
}
