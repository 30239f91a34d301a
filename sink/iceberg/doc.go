// Package iceberg is the sink for Apache Iceberg tables (format version 2) in a
// SQL catalog and a local warehouse.
//
//	s, err := iceberg.New(map[string]string{
//		"catalog.properties.type":      "sql",
//		"catalog.properties.uri":       "sqlite:///var/lib/freshet/catalog.db",
//		"catalog.properties.warehouse": "file:///var/lib/freshet/warehouse",
//	}, logger)
//
// Writers ([Sink.NewWriter]) write Parquet files and say at each checkpoint which
// files and deleted rows it consists of. The one committer ([Sink.NewCommitter])
// makes of that one snapshot a table and checkpoint, in one commit of the
// catalog, with the marker freshet.* in the snapshot's summary and in the table's
// properties. What the marker says has been committed is skipped, so a commit may be
// repeated after any crash.
//
// Tables in upsert mode have one row a key: the writers know in which file and row each
// key lies and turn updates and deletes into position deletes, one sorted file a
// table and checkpoint. Tables in append mode, and all tables without a key, are
// changelogs with the columns __op, __commit_time, __pos, __ordinal and __tx.
package iceberg
