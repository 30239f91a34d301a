package iceberg_test

import (
	"log/slog"
	"testing"

	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/iceberg"
	"github.com/freshet-cdc/freshet/sink/sinktest"
)

// TestConformance runs the suite of all sinks.
func TestConformance(t *testing.T) {
	sinktest.Run(t, sinktest.Config{New: func(t *testing.T, dir string, changelog bool) sink.Sink {
		mode := "upsert"
		if changelog {
			mode = "append"
		}
		s, err := iceberg.New(map[string]string{
			"catalog.properties.type":      "sql",
			"catalog.properties.uri":       "sqlite://" + dir + "/catalog.db",
			"catalog.properties.warehouse": "file://" + dir + "/warehouse",
			"write.mode":                   mode,
			// Small numbers, so that manifests are merged and snapshots expire in a short run.
			"table.properties.commit.manifest.min-count-to-merge": "5",
			"history.expire.max-snapshot-age":                     "1ms",
			"history.expire.min-snapshots-to-keep":                "4",
		}, slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}})
}
