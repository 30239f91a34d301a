package pipeline

import (
	"context"

	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/pipeline/verify"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// Verify compares every captured table with each of its sink tables, one after
// the other, and gives each result to report as it comes. The pipeline may run
// meanwhile, here or elsewhere. The error is a table that could not be compared;
// differences are in the results. only limits it to some source tables when it is not nil.
func (p *Pipeline) Verify(ctx context.Context, o verify.Options, only func(schema.TableID) bool, report func(*verify.Result)) ([]*verify.Result, error) {
	tables, err := p.check(ctx)
	if err != nil {
		return nil, err
	}
	routes := compose.NewRoutes(p.router)
	var results []*verify.Result
	for _, t := range tables {
		if only != nil && !only(t.Schema.ID) {
			continue
		}
		targets, err := routes.Targets(t.Schema.ID)
		if err != nil {
			return results, err
		}
		for _, target := range targets {
			table := t.Schema
			r, err := verify.Compare(ctx, verify.Table{
				Definition: table, Target: target.ID,
				Source: func(ctx context.Context, fn func(*schema.Batch) error) (uint64, error) {
					return p.Source.Rows(ctx, table, asHeld(p.Sink, fn))
				},
				Sink: func(ctx context.Context, fn func(*schema.Batch) error) (uint64, error) {
					return p.Sink.Rows(ctx, table, target.ID, fn)
				},
			}, o)
			if err != nil {
				return results, err
			}
			results = append(results, r)
			if report != nil {
				report(r)
			}
		}
	}
	return results, nil
}

// asHeld has a reader of the source hand on its rows as the sink's options say
// that they are held there: what the pipeline was told to change is no difference.
func asHeld(snk sink.Sink, fn func(*schema.Batch) error) func(*schema.Batch) error {
	lossy, ok := snk.(sink.Lossy)
	if !ok {
		return fn
	}
	return func(b *schema.Batch) error {
		held, err := lossy.AsHeld(b)
		if err != nil {
			return err
		}
		defer held.Release()
		return fn(held)
	}
}
