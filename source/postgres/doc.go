// Package postgres captures the tables of one PostgreSQL database (14 or newer)
// as an ordered log with exact snapshots inside it.
//
// The log comes over one replication connection as pgoutput in text form; the
// snapshot reads ctid ranges with COPY on connections of its own. All sessions
// print values alike (sessionSettings), and what the snapshot does not copy in
// binary goes through the same text parsers as the log, so a value is the same
// whichever way it comes.
//
// The way of a change: groupReader reads frames and scanner cuts them into groups
// at commits; decoders in parallel turn groups into Arrow batches; deliver puts
// them in order again; the reader merges them with the snapshot's chunks.
//
//	src, err := postgres.New(map[string]string{
//		"url": "postgres://app@localhost/shop", "tables": `shop.public.\.*`, "slot.name": "freshet_shop",
//	}, func(id schema.TableID) bool { return id.Schema == "public" }, slog.Default())
//	if err != nil {
//		return err
//	}
//	for _, problem := range src.Check(ctx) {
//		fmt.Println(problem)
//	}
//
// # Partitions
//
// A partitioned table is captured as one. The log says nothing of rows that come and
// go with partitions (ATTACH, DETACH, DROP, and TRUNCATE of a partition), so a session
// beside the stream looks at the catalogue now and then, and at every start. While a
// table is read, it is read anew; behind the snapshot partition.attach.mode and
// partition.detach.mode say what to do. Partitions that are created as such, or are
// empty when they are attached, are just followed.
//
// # Limits
//
// Lower bounds of arrays are not kept, for lists have none. A timestamp after the
// year 294246 is an error. Schema changes are followed where every old value stays
// what it was: adding a column without a default, dropping, renaming, widening;
// everything else stops with a SchemaChangeError. Those that no row shows, and what a
// column has beside its name and type, come with the next look at the catalogue; but
// that a column takes NULL is known before the first one. Comments of tables are those
// of the first start. An ALTER TYPE ... USING that
// changes values along with a widening can't be told from a plain one; an ALTER that
// rewrites partitions looks like TRUNCATE of them. Where a row
// changes its key and is deleted again before the log is read, the value of a
// column that the log left out for being unchanged is nowhere to be had: it is NULL in
// the insert that the log's next event deletes, and the stream says so.
package postgres
