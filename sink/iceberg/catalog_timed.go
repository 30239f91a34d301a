package iceberg

import (
	"context"
	"iter"

	iceberggo "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// timedStore gives every call of a catalog commit.timeout, so that one that does not
// answer is an error and no silence.
type timedStore struct {
	store
	opts options
}

// timed runs one call.
func timed[T any](ctx context.Context, o options, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, o.commitTimeout)
	defer cancel()
	out, err := call(ctx)
	return out, o.late(ctx, err)
}

func (s timedStore) CreateTable(ctx context.Context, id table.Identifier, sc *iceberggo.Schema, opts ...catalog.CreateTableOpt) (*table.Table, error) {
	return timed(ctx, s.opts, func(ctx context.Context) (*table.Table, error) { return s.store.CreateTable(ctx, id, sc, opts...) })
}

func (s timedStore) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	var location string
	meta, err := timed(ctx, s.opts, func(ctx context.Context) (meta table.Metadata, err error) {
		meta, location, err = s.store.CommitTable(ctx, id, reqs, updates)
		return meta, err
	})
	return meta, location, err
}

func (s timedStore) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	return timed(ctx, s.opts, func(ctx context.Context) (*table.Table, error) { return s.store.LoadTable(ctx, id) })
}

func (s timedStore) DropTable(ctx context.Context, id table.Identifier) error {
	_, err := timed(ctx, s.opts, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.store.DropTable(ctx, id) })
	return err
}

func (s timedStore) CreateNamespace(ctx context.Context, ns table.Identifier, props iceberggo.Properties) error {
	_, err := timed(ctx, s.opts, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.store.CreateNamespace(ctx, ns, props)
	})
	return err
}

func (s timedStore) CheckNamespaceExists(ctx context.Context, ns table.Identifier) (bool, error) {
	return timed(ctx, s.opts, func(ctx context.Context) (bool, error) { return s.store.CheckNamespaceExists(ctx, ns) })
}

func (s timedStore) ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error) {
	return timed(ctx, s.opts, func(ctx context.Context) ([]table.Identifier, error) { return s.store.ListNamespaces(ctx, parent) })
}

// ListTables lists all before the first is handed on.
func (s timedStore) ListTables(ctx context.Context, ns table.Identifier) iter.Seq2[table.Identifier, error] {
	return func(yield func(table.Identifier, error) bool) {
		idents, err := timed(ctx, s.opts, func(ctx context.Context) (out []table.Identifier, err error) {
			for ident, err := range s.store.ListTables(ctx, ns) {
				if err != nil {
					return nil, err
				}
				out = append(out, ident)
			}
			return out, nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for _, ident := range idents {
			if !yield(ident, nil) {
				return
			}
		}
	}
}
