package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/pipeline/plan"
	"github.com/freshet-cdc/freshet/source"
)

// CheckError is a source or sink that can't be used as it is: unreachable,
// without a privilege, set up in another way. It holds everything that was found.
type CheckError struct {
	// Errs are the problems, those of the source first.
	Errs []error
}

func (e *CheckError) Error() string {
	lines := make([]string, len(e.Errs))
	for i, err := range e.Errs {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (e *CheckError) Unwrap() []error { return e.Errs }

// Check connects to source and sink and verifies that the pipeline can run,
// without changing anything. The error is a [*CheckError], or a
// [document.Problems] when routes don't fit the tables.
func (p *Pipeline) Check(ctx context.Context) error {
	_, err := p.check(ctx)
	return err
}

// check also returns the captured tables.
func (p *Pipeline) check(ctx context.Context) ([]source.Table, error) {
	var tables []source.Table
	var src, snk []error
	var g errgroup.Group
	g.Go(func() error {
		if src = wrap("source", p.Source.Kind(), p.Source.Check(ctx)); len(src) > 0 {
			return nil
		}
		var err error
		if tables, err = p.Source.Discover(ctx); err != nil {
			src = wrap("source", p.Source.Kind(), []error{err})
		}
		return nil
	})
	g.Go(func() error {
		snk = wrap("sink", p.Sink.Kind(), p.Sink.Check(ctx))
		return nil
	})
	_ = g.Wait() // both keep their errors
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errs := append(src, snk...); len(errs) > 0 {
		return nil, &CheckError{Errs: errs}
	}
	if err := p.checkRoutes(tables); err != nil {
		return nil, err
	}
	return tables, nil
}

func wrap(side, kind string, errs []error) []error {
	out := make([]error, len(errs))
	for i, err := range errs {
		out[i] = fmt.Errorf("%s %s: %w", side, kind, err)
	}
	return out
}

// checkRoutes makes sure that every table has a target of its own.
func (p *Pipeline) checkRoutes(tables []source.Table) error {
	routes := compose.NewRoutes(p.router)
	var problems []document.Problem
	for _, t := range tables {
		_, err := routes.Targets(t.Schema.ID)
		if err == nil {
			continue
		}
		at, rule := document.Place{File: p.Document.File}, -1
		if merge := (*compose.MergeError)(nil); errors.As(err, &merge) {
			rule = max(merge.FirstRule, merge.SecondRule)
		} else if bad := (*match.RuleError)(nil); errors.As(err, &bad) {
			rule, err = bad.Index, bad.Err
		}
		if rule >= 0 {
			at = p.Document.Routes[rule].SinkPlace
		}
		problems = append(problems, document.Problem{Place: at, Msg: err.Error()})
	}
	return document.Sorted(problems...)
}

// unused returns notes on routes that match no table.
func (p *Pipeline) unused(tables []source.Table) []string {
	used := map[int]bool{}
	routes := compose.NewRoutes(p.router)
	for _, t := range tables {
		targets, _ := routes.Targets(t.Schema.ID) // checked before
		for _, target := range targets {
			used[target.Rule] = true
		}
	}
	var notes []string
	for i, r := range p.Document.Routes {
		if !used[i] {
			notes = append(notes, fmt.Sprintf("%s: no captured table takes the route %s -> %s; patterns of routes match the whole name, case and all", r.Place, r.SourceTable, r.SinkTable))
		}
	}
	return notes
}

// Plan says what the pipeline would do. Errors are those of Check, or a table
// that the sink can't hold.
func (p *Pipeline) Plan(ctx context.Context) (*plan.Plan, error) {
	tables, err := p.check(ctx)
	if err != nil {
		return nil, err
	}
	out, err := plan.Make(tables, compose.NewRoutes(p.router), p.Sink)
	if err != nil {
		return nil, &CheckError{Errs: []error{err}}
	}
	out.Notes = p.unused(tables)
	if p.Document.Pipeline.SchemaChangeBehavior == "" {
		out.Notes = append(out.Notes, "schema changes are applied 1:1 (schema.change.behavior: evolve)")
	}
	return out, nil
}
