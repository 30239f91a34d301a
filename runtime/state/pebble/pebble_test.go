package pebble_test

import (
	"testing"

	"github.com/freshet-cdc/freshet/runtime/state/pebble"
	"github.com/freshet-cdc/freshet/runtime/state/statetest"
)

func TestConformance(t *testing.T) {
	b := pebble.NewBackend(pebble.Options{})
	defer b.Close()
	statetest.Run(t, b, statetest.Traits{Incremental: true})
}
