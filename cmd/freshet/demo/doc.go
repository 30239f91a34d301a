// Package demo shows what freshet promises, on a real PostgreSQL that it brings
// along: a shop whose rows keep changing, a pipeline that is killed in the
// middle, and tables that are equal in the end.
//
//	err := demo.Run(ctx, demo.Options{Dir: "demo", Rows: 1000, Changes: 500}, hooks)
package demo
