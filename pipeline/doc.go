// Package pipeline runs pipeline documents: it makes the source and the sink that
// a document names, checks them, plans, runs, and compares the result.
//
// Its parts can be used alone: document (the YAML), match (patterns and routes),
// compose (the program on the engine), plan, verify and metrics. A new kind of
// source or sink is a line in kinds.go.
//
//	p, err := pipeline.Open("shop.yaml", pipeline.Options{})
//	if err != nil {
//		return err // document.Problems: places, causes, hints
//	}
//	defer p.Close()
//	return p.Run(ctx, pipeline.RunOptions{UntilCaughtUp: true})
package pipeline
