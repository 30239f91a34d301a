package main

import (
	"context"
	"fmt"

	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/workload"
)

// check compares a pipeline's tables with their source and looks at the tables
// as of every checkpoint; it adds what it finds to r.
func check(ctx context.Context, v *victim, db *database, w *workload.Workload, r *result) error {
	source, disconnect, err := db.source(ctx, db.url)
	if err != nil {
		return err
	}
	defer disconnect()
	reader, err := v.pipeline.Reader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close()
	history, err := loadHistory(reader, w, r)
	if err != nil {
		return fmt.Errorf("%s: %w", v.pipeline.Name, err)
	}
	snapshotEnd, err := history.check(v, reader, w, r)
	if err != nil {
		return fmt.Errorf("%s: %w", v.pipeline.Name, err)
	}
	for _, table := range w.Tables() {
		changelog := v.mode == "append" || w.Keyless(table)
		if err := checkTable(ctx, v, source, reader, table, changelog, snapshotEnd, r); err != nil {
			return fmt.Errorf("%s, table %s: %w", v.pipeline.Name, table, err)
		}
	}
	return nil
}

// checkTable compares one table, by both engines; snapshotEnd is a position at
// which the snapshot was over.
func checkTable(ctx context.Context, v *victim, source readers.Source, reader *readers.Reader, table string, changelog bool, snapshotEnd int64, r *result) error {
	if changelog {
		log, err := reader.CompareChangelog(ctx, source, table, table, readers.PyIceberg, snapshotEnd)
		if err != nil {
			return err
		}
		r.lost += log.Missing + log.Different
		r.doubled += log.Extra + log.Doubled
		r.broken += log.Broken
		fmt.Printf("%s: %s\n", v.pipeline.Name, log)
		return nil
	}
	for _, engine := range []readers.Engine{readers.PyIceberg, readers.DuckDB} {
		diff, err := reader.Compare(ctx, source, table, table, engine)
		if err != nil {
			return err
		}
		if engine == readers.DuckDB && diff.Equal() {
			continue
		}
		r.lost += diff.Missing + diff.Different
		r.doubled += diff.Extra
		fmt.Printf("%s by %s: %s\n", v.pipeline.Name, engine, diff)
	}
	return nil
}

// tableSQL is how the invariants see a table as of a snapshot: for a changelog,
// folded to the last row of each key. Without a key it is what it is.
func tableSQL(v *victim, name, key string) string {
	if v.mode != "append" || key == "" {
		return "{" + name + "}"
	}
	return fmt.Sprintf(`(SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY %s
		ORDER BY (__op = 'r'), __pos DESC, __ordinal DESC) AS __rank FROM {%s}) WHERE __rank = 1 AND __op <> 'd')`, key, name)
}
