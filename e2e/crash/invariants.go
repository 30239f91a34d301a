package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/e2e/readers"
	"github.com/freshet-cdc/freshet/e2e/workload"
)

// The keys of a snapshot's lineage marker.
const (
	summaryCheckpoint = "freshet.checkpoint-id"
	summaryStep       = "freshet.step"
	summaryPosition   = "freshet.position"
)

// history is the snapshots of all tables by checkpoint.
type history struct {
	checkpoints []int64 // every id that any table has a snapshot of, ascending
	// newest maps a table to its newest snapshot of each checkpoint id.
	newest map[string]map[int64]int64
	// committed is when the first table committed a checkpoint.
	committed map[int64]time.Time
	// positions maps a checkpoint to its position in the log.
	positions map[int64]int64
}

// loadHistory reads the snapshots of the workload's tables. A marker that is there
// twice is a commit that happened twice.
func loadHistory(reader *readers.Reader, w *workload.Workload, r *result) (*history, error) {
	h := &history{newest: map[string]map[int64]int64{}, committed: map[int64]time.Time{}, positions: map[int64]int64{}}
	for _, table := range w.Tables() {
		snapshots, err := reader.Snapshots(table)
		if err != nil {
			return nil, err
		}
		h.newest[table] = map[int64]int64{}
		seen := map[string]bool{}
		for _, s := range snapshots {
			id, err := strconv.ParseInt(s.Summary[summaryCheckpoint], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("a snapshot of %s has no checkpoint in its summary: %v", table, s.Summary)
			}
			marker := fmt.Sprint(id, "/", s.Summary[summaryStep])
			if seen[marker] {
				r.doubled++
				fmt.Printf("%s: checkpoint %s was committed twice\n", table, marker)
			}
			seen[marker] = true
			h.newest[table][id] = s.ID
			if h.positions[id], err = strconv.ParseInt(s.Summary[summaryPosition], 10, 64); err != nil {
				return nil, fmt.Errorf("a snapshot of %s has no position in its summary: %v", table, s.Summary)
			}
			if at := time.UnixMilli(s.Milliseconds); h.committed[id].IsZero() || at.Before(h.committed[id]) {
				h.committed[id] = at
			}
			if !slices.Contains(h.checkpoints, id) {
				h.checkpoints = append(h.checkpoints, id)
			}
		}
	}
	slices.Sort(h.checkpoints)
	return h, nil
}

// at returns the newest snapshot of each table at or before a checkpoint; ok is
// false when a table has none yet.
func (h *history) at(checkpoint int64, w *workload.Workload) (refs map[string]readers.Ref, ok bool) {
	refs = map[string]readers.Ref{}
	for table, snapshots := range h.newest {
		best := int64(-1)
		for id := range snapshots {
			if id <= checkpoint && id > best {
				best = id
			}
		}
		if best < 0 {
			// The ledger begins empty: without a row it has no snapshot.
			if table != w.Table("ledger") {
				return nil, false
			}
			continue
		}
		refs[table[strings.LastIndex(table, ".")+1:]] = readers.Ref{Table: table, Snapshot: snapshots[best]}
	}
	return refs, true
}

// invariants returns the query that gives the violations as of a snapshot of each
// table: one row with the number of rows that the snapshot has yet to bring, and
// the number of broken invariants.
func invariants(v *victim, ledger bool) string {
	ledgerSQL := "(SELECT 0 AS worker, 0 AS seq, 0 AS debit, 0 AS credit, 0 AS amount WHERE false)"
	if ledger {
		ledgerSQL = tableSQL(v, "ledger", "worker, seq")
	}
	return `WITH accounts AS (SELECT * FROM ` + tableSQL(v, "accounts", "id") + `),
	progress AS (SELECT * FROM ` + tableSQL(v, "progress", "worker") + `),
	ledger AS (SELECT * FROM ` + ledgerSQL + `),
	events AS (SELECT worker, count(*) AS n, count(DISTINCT seq) AS seqs, max(seq) AS last FROM ` + tableSQL(v, "events", "") + ` GROUP BY worker),
	moved AS (SELECT id, sum(amount) AS amount FROM
		(SELECT credit AS id, amount FROM ledger UNION ALL SELECT debit, -amount FROM ledger) GROUP BY id),
	per_worker AS (SELECT p.worker, p.transfers, p.events, coalesce(l.n, 0) AS ledger_n, coalesce(l.last, 0) AS ledger_last,
			coalesce(e.n, 0) AS events_n, coalesce(e.seqs, 0) AS events_seqs, coalesce(e.last, 0) AS events_last
		FROM progress p
		LEFT JOIN (SELECT worker, count(*) AS n, max(seq) AS last FROM ledger GROUP BY worker) l USING (worker)
		LEFT JOIN events e USING (worker))
	SELECT
		(SELECT count(*) FROM accounts) AS accounts,
		(SELECT count(*) FROM progress) AS workers,
		(SELECT coalesce(max(n), 0) FROM events WHERE worker = -1) AS first_events,
		(SELECT CASE WHEN sum(balance) = ` + fmt.Sprint(workload.InitialBalance) + ` * count(*) THEN 0 ELSE 1 END FROM accounts)
		+ (SELECT count(*) FROM accounts a LEFT JOIN moved m USING (id)
			WHERE a.balance <> ` + fmt.Sprint(workload.InitialBalance) + ` + coalesce(m.amount, 0))
		+ (SELECT count(*) FROM per_worker WHERE transfers <> ledger_n OR transfers <> ledger_last)
		+ (SELECT count(*) FROM per_worker WHERE events <> events_n OR events <> events_seqs OR events <> events_last) AS broken`
}

// check runs the invariants as of every checkpoint from the one at which the
// snapshot was complete: the first at which every first row has arrived and the
// invariants hold, and at the latest the first that was committed after the
// pipeline itself said so. From there on none may be broken, and there must be
// such checkpoints. It returns a position at which all snapshots were over, those
// of tables without an invariant included: that of the first checkpoint behind what
// the pipeline said, 0 when it did not say so.
func (h *history) check(v *victim, reader *readers.Reader, w *workload.Workload, r *result) (snapshotEnd int64, err error) {
	complete, checked := int64(-1), 0
	for _, id := range h.checkpoints {
		refs, ok := h.at(id, w)
		if !ok {
			continue
		}
		_, ledger := refs["ledger"]
		rows, err := reader.SQL(invariants(v, ledger), refs)
		if err != nil {
			return 0, fmt.Errorf("checkpoint %d: %w", id, err)
		}
		numbers := make([]int, len(rows[0]))
		for i, t := range rows[0] {
			if t != nil {
				numbers[i], _ = strconv.Atoi(*t)
			}
		}
		all := w.Complete(numbers[0], numbers[1], numbers[2])
		broken := numbers[3]
		said := !v.complete.IsZero() && h.committed[id].After(v.complete)
		if said && snapshotEnd == 0 {
			snapshotEnd = h.positions[id]
		}
		if complete < 0 {
			if !said && (!all || broken > 0) {
				continue
			}
			complete = id
		}
		checked++
		if broken > 0 || !all {
			r.broken += max(1, broken)
			fmt.Printf("%s: at checkpoint %d, %d invariants are broken (accounts %d, workers %d, first events %d)\n",
				v.pipeline.Name, id, broken, numbers[0], numbers[1], numbers[2])
		}
	}
	fmt.Printf("%s: invariants looked at in %d of %d checkpoints, from %d on\n", v.pipeline.Name, checked, len(h.checkpoints), complete)
	if complete < 0 {
		r.broken++
		fmt.Printf("%s: there is no checkpoint at which the tables agree\n", v.pipeline.Name)
	}
	return snapshotEnd, nil
}
