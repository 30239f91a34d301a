package statetest

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
)

// testModel compares random operations, snapshots and restores at random
// parallelism with a plain map.
func testModel(t *testing.T, f *fixture) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{f: f, now: map[string]string{}}
		m.reopen(rt, 1)
		defer m.close(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"apply":    m.apply,
			"load":     m.load,
			"get":      m.get,
			"iterate":  m.iterate,
			"snapshot": m.snapshot,
			"restore":  m.restore,
			"":         func(*rapid.T) {},
		})
		got := map[string]string{}
		for _, s := range m.stores {
			maps.Copy(got, scan(rt, s, nil, nil))
		}
		equal(rt, got, m.now)
	})
}

type model struct {
	f      *fixture
	id     int64
	stores []state.Store
	ranges []keygroup.Range
	now    map[string]string
	// the last complete snapshot
	handles []state.Handle
	then    map[string]string
}

var (
	genKey = rapid.Custom(func(t *rapid.T) []byte {
		return key(rapid.IntRange(0, maxParallelism-1).Draw(t, "group"), rapid.StringMatching(`[a-c]{0,2}`).Draw(t, "rest"))
	})
	genValue = rapid.StringMatching(`[x-z]{0,3}`)
)

func (m *model) close(t tb) {
	for _, s := range m.stores {
		closeStore(t, s)
	}
	m.stores = nil
}

// reopen goes back to the last snapshot, with p subtasks.
func (m *model) reopen(t tb, p int) {
	m.close(t)
	m.ranges = keygroup.Ranges(maxParallelism, p)
	for _, r := range m.ranges {
		m.stores = append(m.stores, m.f.open(t, r, m.handles...))
	}
	m.now = maps.Clone(m.then)
	if m.now == nil {
		m.now = map[string]string{}
	}
}

func (m *model) storeOf(k []byte) state.Store {
	return m.stores[keygroup.OperatorIndex(keygroup.FromPrefix(k), maxParallelism, len(m.stores))]
}

func (m *model) apply(t *rapid.T) {
	batches := make([]state.Batch, len(m.stores))
	for range rapid.IntRange(1, 8).Draw(t, "ops") {
		k := genKey.Draw(t, "key")
		b := &batches[keygroup.OperatorIndex(keygroup.FromPrefix(k), maxParallelism, len(m.stores))]
		switch rapid.IntRange(0, 3).Draw(t, "op") {
		case 0, 1:
			v := genValue.Draw(t, "value")
			b.Set(k, []byte(v))
			m.now[string(k)] = v
		case 2:
			b.Delete(k)
			delete(m.now, string(k))
		case 3: // within the subtask
			upper := append(k[:2:2], genValue.Draw(t, "upper")...)
			b.DeleteRange(k, upper)
			maps.DeleteFunc(m.now, func(have, _ string) bool { return have >= string(k) && have < string(upper) })
		}
	}
	for i := range batches {
		apply(t, m.stores[i], &batches[i])
	}
}

func (m *model) load(t *rapid.T) {
	entries := map[string]string{}
	for _, k := range rapid.SliceOfN(genKey, 0, 20).Draw(t, "keys") {
		entries[string(k)] = genValue.Draw(t, "value")
	}
	for i, s := range m.stores {
		load(t, s, within(entries, m.ranges[i]))
	}
	maps.Copy(m.now, entries)
}

func (m *model) get(t *rapid.T) {
	k := genKey.Draw(t, "key")
	if v, ok := m.now[string(k)]; ok {
		expectGet(t, m.storeOf(k), string(k), v)
	} else {
		expectNone(t, m.storeOf(k), string(k))
	}
}

func (m *model) iterate(t *rapid.T) {
	i := rapid.IntRange(0, len(m.stores)-1).Draw(t, "store")
	lower, upper := genKey.Draw(t, "lower"), genKey.Draw(t, "upper")
	want := within(m.now, m.ranges[i])
	maps.DeleteFunc(want, func(k, _ string) bool {
		return bytes.Compare([]byte(k), lower) < 0 || bytes.Compare([]byte(k), upper) >= 0
	})
	equal(t, scan(t, m.stores[i], lower, upper), want)
}

func (m *model) snapshot(t *rapid.T) {
	m.id++
	handles := make([]state.Handle, len(m.stores))
	for i, s := range m.stores {
		handles[i] = m.f.snapshot(t, s, m.id)
		if handles[i].KeyGroups != m.ranges[i] {
			t.Fatalf("handle of %v says %v", m.ranges[i], fmt.Sprint(handles[i].KeyGroups))
		}
	}
	m.handles, m.then = handles, maps.Clone(m.now)
}

func (m *model) restore(t *rapid.T) { m.reopen(t, rapid.IntRange(1, 3).Draw(t, "parallelism")) }
