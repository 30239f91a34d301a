package kafka

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/freshet-cdc/freshet/source/kafka/split"
)

// lagInterval is how often the partitions' ends are asked for.
const lagInterval = 5 * time.Second

// finding is what a look at the cluster has found.
type finding struct {
	splits []split.Split
	err    error
}

// watcher looks for new partitions, and asks for the ends of those that are read.
type watcher struct {
	cluster  *cluster
	shared   *shared
	logger   *slog.Logger
	bounded  bool
	interval time.Duration
	have     map[split.Key]string
	news     chan<- finding
}

// run looks until ctx is done. That the cluster can't be asked is a warning: reading itself
// fails if it lasts.
func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(min(lagInterval, w.interval))
	defer tick.Stop()
	looked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var f finding
		if !w.bounded && time.Since(looked) >= w.interval {
			looked = time.Now()
			f = w.look(ctx)
		}
		if f.err == nil {
			f.err = w.ends(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if f.err != nil && !errors.Is(f.err, ErrTopic) {
			w.logger.Warn("the cluster could not be asked for partitions and their ends", "error", f.err)
			f.err = nil
		}
		if f.err == nil && len(f.splits) == 0 {
			continue
		}
		select {
		case w.news <- f:
		case <-ctx.Done():
			return
		}
	}
}

// look finds new partitions.
func (w *watcher) look(ctx context.Context) finding {
	all, err := w.cluster.partitions(ctx)
	if err != nil {
		return finding{err: err}
	}
	added, err := compare(all, w.have)
	if err != nil || len(added) == 0 {
		return finding{err: err}
	}
	splits, err := w.cluster.found(ctx, added)
	if err != nil {
		return finding{err: err}
	}
	for _, p := range added {
		w.have[p.Key] = p.topicID
	}
	return finding{splits: splits}
}

// ends notes the partitions' ends.
func (w *watcher) ends(ctx context.Context) error {
	var all []partition
	for k, id := range w.have {
		all = append(all, partition{k, id})
	}
	known, err := w.cluster.brokers(ctx, all, facts{})
	if err != nil {
		return err
	}
	for k, b := range known[0] {
		w.shared.server(k, b.End)
	}
	return nil
}
