package memory_test

import (
	"testing"

	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/runtime/state/pebble"
	"github.com/freshet-cdc/freshet/runtime/state/statetest"
)

func TestConformance(t *testing.T) {
	statetest.Run(t, memory.NewBackend(memory.Options{}), statetest.Traits{})
}

func TestAcrossBackends(t *testing.T) {
	p := pebble.NewBackend(pebble.Options{})
	defer p.Close()
	m := memory.NewBackend(memory.Options{})
	t.Run("MemoryToPebble", func(t *testing.T) { statetest.RunAcross(t, m, p) })
	t.Run("PebbleToMemory", func(t *testing.T) { statetest.RunAcross(t, p, m) })
}
