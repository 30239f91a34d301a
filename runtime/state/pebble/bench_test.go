package pebble_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/state/pebble"
	"github.com/freshet-cdc/freshet/runtime/state/statetest"
)

// The key index of a sink, as its figures are given in the reference: a key of
// 12 bytes beside the key group, a value of 12; INDEX_KEYS keys are loaded in sorted runs of 100,000, and
// INDEX_CHANGES changes (50 % updates, 30 % inserts, 20 % deletes) are made, sorted
// within runs of 500,000: look up through one iterator, then apply.
func BenchmarkKeyIndexPebble(b *testing.B) {
	backend := pebble.NewBackend(pebble.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	defer backend.Close()
	benchmarkKeyIndex(b, backend)
}

func BenchmarkKeyIndexMemory(b *testing.B) { benchmarkKeyIndex(b, memory.NewBackend(memory.Options{})) }

const (
	loadRun   = 100_000
	changeRun = 500_000
	keyLen    = keygroup.PrefixLen + 12
)

func benchmarkKeyIndex(b *testing.B, backend state.Backend) {
	nKeys, nChanges := number("INDEX_KEYS", 3_000_000), number("INDEX_CHANGES", 1_500_000)
	for range b.N {
		files := &statetest.DirFiles{Dir: b.TempDir()}
		s, err := backend.Open(context.Background(), state.Options{Dir: filepath.Join(b.TempDir(), "local"), Operator: "index", KeyGroups: all, Files: files})
		if err != nil {
			b.Fatal(err)
		}
		m := &meter{}
		loadIndex(b, m, s, nKeys)
		m.report(b, "load", nKeys)
		m = &meter{}
		changeIndex(b, m, s, nKeys, nChanges)
		m.report(b, "change", nChanges)
		start := time.Now()
		sn, err := s.Snapshot(context.Background(), 1)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "snapshot-ms")
		start = time.Now()
		h, err := sn.Upload(context.Background(), files)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "upload-ms")
		b.ReportMetric(float64(h.Bytes)/1e6, "MB")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

func number(env string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return def
}

func cpu() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// meter adds up time and CPU of parts.
type meter struct{ time, cpu time.Duration }

func (m *meter) run(fn func()) {
	start, used := time.Now(), cpu()
	fn()
	m.time += time.Since(start)
	m.cpu += cpu() - used
}

func (m *meter) report(b *testing.B, name string, n int) {
	b.ReportMetric(float64(n)/m.time.Seconds(), name+"-ops/s")
	b.ReportMetric(float64(m.cpu.Nanoseconds())/1000/float64(n), name+"-cpu-us/op")
}

// appendKey makes the state key of key number i.
func appendKey(dst []byte, i int) []byte {
	var k [12]byte
	binary.BigEndian.PutUint64(k[4:], uint64(i))
	hash := xxhash.Sum64(k[:])
	return append(keygroup.AppendPrefix(dst, keygroup.Of(uint32(hash^hash>>32), 128)), k[:]...)
}

func sortedRun(keys []byte, n int, key func(i int) int) ([]byte, [][]byte) {
	keys = keys[:0]
	for i := range n {
		keys = appendKey(keys, key(i))
	}
	run := make([][]byte, n)
	for i := range run {
		run[i] = keys[i*keyLen : (i+1)*keyLen]
	}
	slices.SortFunc(run, bytes.Compare)
	return keys, run
}

func loadIndex(b *testing.B, m *meter, s state.Store, n int) {
	var buf []byte
	var value [12]byte
	for at := 0; at < n; at += loadRun {
		var run [][]byte
		buf, run = sortedRun(buf, min(loadRun, n-at), func(i int) int { return at + i })
		m.run(func() {
			err := s.BulkLoad(context.Background(), func(yield func(k, v []byte) bool) {
				for i, k := range run {
					binary.LittleEndian.PutUint64(value[:], uint64(at+i))
					if !yield(k, value[:]) {
						return
					}
				}
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

func changeIndex(b *testing.B, m *meter, s state.Store, nKeys, n int) {
	rng := rand.New(rand.NewPCG(1, 1))
	var (
		buf   []byte
		batch state.Batch
		value [12]byte
		next  = nKeys
		found int
	)
	for at := 0; at < n; at += changeRun {
		var run [][]byte
		buf, run = sortedRun(buf, min(changeRun, n-at), func(int) int {
			if rng.IntN(10) < 3 { // an insert
				next++
				return next
			}
			return rng.IntN(nKeys)
		})
		m.run(func() {
			it, err := s.Iterate(nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			for i, k := range run {
				if it.SeekGE(k) && bytes.Equal(it.Key(), k) {
					found++
					if rng.IntN(7) < 2 {
						batch.Delete(k)
						continue
					}
				}
				binary.LittleEndian.PutUint64(value[:], uint64(at+i))
				batch.Set(k, value[:])
			}
			if err := it.Close(); err != nil {
				b.Fatal(err)
			}
			if err := s.Apply(&batch); err != nil {
				b.Fatal(err)
			}
		})
	}
	if found < n/2 {
		b.Fatalf("only %d of %d changes found their key", found, n)
	}
}
