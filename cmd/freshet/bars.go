package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/freshet-cdc/freshet/pipeline"
	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// maxBars bounds the tables that are shown at once.
const maxBars = 12

// bars shows a bar for each table in its snapshot, and a line for the whole.
func (a *app) bars(ctx context.Context, job *compose.Job, p *pipeline.Pipeline) {
	progress := mpb.New(mpb.WithOutput(a.stderr.w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(200*time.Millisecond))
	a.stderr.show(progress)
	defer progress.Shutdown()
	defer a.stderr.show(nil)
	var text atomic.Pointer[string]
	progress.New(0, mpb.NopStyle(), mpb.BarPriority(1<<30), mpb.PrependDecorators(
		decor.Name(p.Document.Pipeline.Name+" "),
		decor.Any(func(decor.Statistics) string {
			if t := text.Load(); t != nil {
				return *t
			}
			return "starting"
		})))
	shown := map[schema.TableID]*mpb.Bar{}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	r := newRate()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			s := r.at(job.Progress(), now)
			status := s.status()
			text.Store(&status)
			for _, t := range s.Tables {
				updateBar(progress, shown, t)
			}
		}
	}
}

// updateBar moves the bar of one table, which appears when its snapshot begins
// and goes when it is done.
func updateBar(progress *mpb.Progress, shown map[schema.TableID]*mpb.Bar, t source.TableProgress) {
	bar := shown[t.Table]
	switch {
	case bar == nil && (!t.Snapshotting || t.Chunks == 0 || len(shown) >= maxBars):
		return
	case bar == nil:
		bar = progress.AddBar(int64(t.Chunks), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(t.Table.String()+" ", decor.WCSyncSpaceR)),
			mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string { return fmt.Sprintf(" %d of %d chunks", s.Current, s.Total) })))
		shown[t.Table] = bar
	case !t.Snapshotting:
		bar.SetTotal(-1, true)
		delete(shown, t.Table)
		return
	}
	bar.SetTotal(int64(t.Chunks), false)
	bar.SetCurrent(int64(t.Done))
}
