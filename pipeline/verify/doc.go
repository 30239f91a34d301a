// Package verify compares the rows of a table at its source with those in its
// sink, also while both change.
//
// Both sides are streamed, in any order, and folded into counts and sums of
// hashes in 1,024 buckets by key: memory does not depend on the size of the table.
// Only where buckets differ the rows are looked at again, key by key. A key
// counts as different when the source showed the same row before and after the
// sink was read, the sink had committed a position behind the first of these
// reads, and its row was another one, twice in a row. Keys that keep changing are
// compared again.
//
//	result, err := verify.Compare(ctx, verify.Table{
//		Definition: table,
//		Source:     func(ctx context.Context, fn func(*schema.Batch) error) (uint64, error) { return src.Rows(ctx, table, fn) },
//		Sink:       func(ctx context.Context, fn func(*schema.Batch) error) (uint64, error) { return snk.Rows(ctx, table, target, fn) },
//	}, verify.Options{})
//	if err == nil && !result.Equal() {
//		fmt.Print(result)
//	}
package verify
