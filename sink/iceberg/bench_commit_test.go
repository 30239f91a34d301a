package iceberg

import (
	"strconv"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/schema"
)

// TestCommitTimeStaysFlat: with expiry and merged manifests a commit costs the same
// after hundreds of checkpoints. The figures are in the test's log.
func TestCommitTimeStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of synced commits: left out with -short")
	}
	l := newLab(t, map[string]string{"history.expire.max-snapshot-age": "1ms", "history.expire.min-snapshots-to-keep": "10"})
	l.start()
	l.insert(0, 1, 2, 3)
	l.checkpoint()
	const rounds, window = 240, 40
	var spent [rounds / window]time.Duration
	for i := range rounds {
		l.insert(100 + i)
		l.write(l.id, l.def, schema.OpUpdate, i%4)
		cp, err := l.rig.Prepare(l.ctx, true, nil)
		l.must(err)
		began := time.Now()
		l.must(l.rig.Committer.Commit(l.ctx, cp.ID))
		spent[i/window] += time.Since(began)
	}
	line := ""
	for _, d := range spent {
		line += " " + strconv.FormatFloat(d.Seconds()*1000/window, 'f', 1, 64)
	}
	t.Logf("mean commit in ms, by %d checkpoints:%s", window, line)
	if n := len(l.load(l.id).Metadata().Snapshots()); n > 10+defaultExpireBatch+1 {
		t.Errorf("%d snapshots are left", n)
	}
	if first, last := spent[0], spent[len(spent)-1]; last > 4*first {
		t.Errorf("%d commits took %s at first and %s at the end", window, first, last)
	}
}
