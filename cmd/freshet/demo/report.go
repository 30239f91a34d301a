package demo

import (
	"context"
	"fmt"
)

// compare verifies every table and prints the outcome.
func (s *show) compare(ctx context.Context, changes int) error {
	s.say("comparing every table with its source")
	results, err := s.hooks.Verify(ctx, s.file)
	if err != nil {
		return fmt.Errorf("compare the tables: %w", err)
	}
	rows, equal := int64(0), true
	for _, r := range results {
		fmt.Fprint(s.Out, "  ", r)
		rows += r.SourceRows
		equal = equal && r.Equal()
	}
	if !equal || len(results) != len(shopTables) {
		return fmt.Errorf("%w: %d tables compared, the shop has %d", ErrDifferent, len(results), len(shopTables))
	}
	fmt.Fprintf(s.Out, snippets, s.Dir)
	fmt.Fprintf(s.Out, "verified: %d tables, %d rows equal, %d changes applied exactly once\n", len(results), rows, changes)
	return nil
}

// snippets read the warehouse with tools that freshet has nothing to do with;
// %[1]s is the folder.
const snippets = `
The warehouse lies in %[1]s/warehouse, its catalog is %[1]s/catalog.db. Read it with PyIceberg:

    pip install 'pyiceberg[sql-sqlite,pyarrow]'
    python3 - <<'EOF'
    from pyiceberg.catalog import load_catalog
    catalog = load_catalog("freshet", type="sql", uri="sqlite:///%[1]s/catalog.db", warehouse="file://%[1]s/warehouse")
    print(catalog.list_tables("public"))
    print(catalog.load_table("public.orders").scan(limit=10).to_arrow())
    EOF

or with DuckDB (pip install duckdb), through the same catalog:

    con = __import__("duckdb").connect()
    orders = catalog.load_table("public.orders").scan().to_arrow()
    con.sql("SELECT status, count(*), sum(amount) FROM orders GROUP BY status").show()

`
