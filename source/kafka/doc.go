// Package kafka reads topics of Apache Kafka as a pipeline's source: change events of
// Debezium (JSON with or without schemas, Avro with a schema registry) and of Canal, and plain rows in
// JSON and Avro.
//
//	source:
//	  type: kafka
//	  properties.bootstrap.servers: broker:9092
//	  topic-pattern: dbz\.shop\..*
//	  value.format: debezium-json
//
// # Tables
//
// A topic may hold several tables: an event names its own in its source block (Debezium) or
// in database and table (Canal); otherwise the topic's name is the table's, its parts between dots being
// those of the identifier. The primary key is that of the messages' keys. A table is found when
// its first message comes, and its definition follows the messages; see package table.
//
// # Order and positions
//
// Each partition is read in its order, so a key's changes stay in order as long as all of them
// are in one partition, as producers see to. Nothing orders two partitions: a TRUNCATE comes where its own
// partition has it, and tables of one transaction may be a few records apart.
//
// The log position is the sum of the next offsets of all partitions: it grows with every
// record, a restored checkpoint has the position that it had, and the position of a broker's
// present ends can be had without a pipeline. What it can't say is which partition stands
// where; that is in the checkpoint. Progress counts records where it says bytes of lag.
//
// A checkpoint lies between two records, and between two transactions of Kafka in each
// partition, so what a producer (freshet's own sink, for instance) wrote into a partition in one transaction is in
// one checkpoint. If transactions overlap without an end, a checkpoint waits for at most a
// million records and then cuts them.
//
// # Exactly once
//
// Offsets are part of the checkpoint. They are committed to the group, if one is named, when a
// checkpoint is complete, for tools that show the lag; they are never read back, but for the start
// mode group-offsets of a pipeline without a checkpoint. Records that are gone (retention, a
// truncated or recreated topic) are an error that names the gap, unless auto.offset.reset says otherwise.
//
// # Limits
//
//   - columns are never dropped, and a column that is renamed is a new one (see package table)
//   - a bounded read ends when the record before its end was seen; if compaction has removed
//     that record and every one behind it, it waits for the next one
//   - [Source.Rows] folds the topics from their beginning; for a table with a key it keeps a few
//     dozen bytes a key, and it can't tell values that updates left out
package kafka
