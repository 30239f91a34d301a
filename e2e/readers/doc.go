// Package readers compares tables written by freshet with their source, reading
// them with software that freshet doesn't share code with: PyIceberg and DuckDB,
// in a Python process (reader.py) that the package starts and talks to.
//
//	r, _ := readers.Open(ctx, "sqlite:////dir/catalog.db", "file:///dir/warehouse")
//	defer r.Close()
//	diff, _ := r.Compare(ctx, readers.Postgres(conn), "public.orders", "public.orders", readers.PyIceberg)
//	if !diff.Equal() { t.Error(diff) }
package readers
