package kafka

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConformance runs the suite of all sources over a database whose changes go to a topic.
// A snapshot is what the topic holds already, so cases about reading tables say little here.
func TestConformance(t *testing.T) {
	addresses := brokers(t)
	sourcetest.Run(t, sourcetest.Harness{
		Open:    func(t *testing.T) sourcetest.Database { return openDatabase(t, addresses) },
		Backend: memory.NewBackend(memory.Options{}),
		BigText: "text",
		Slow:    1,
		// Disturb has no meaning here. LatestMode wants to see a table before its first message;
		// TestLatest has what it checks.
		Cases:   []string{"SnapshotAndChanges", "Restarts", "Truncate", "Alter", "NewTable", "SnapshotMode", "Idle"},
		Keyless: func(string) []string { return []string{"DROP TABLE IF EXISTS no_such"} },
	})
}
