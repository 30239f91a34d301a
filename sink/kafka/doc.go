// Package kafka is the sink that writes the changes of tables to Kafka topics.
//
//	s, err := kafka.New(map[string]string{
//		"properties.bootstrap.servers": "broker:9092",
//		"topic.prefix":                 "shop",
//	}, logger)
//	s.SetSource("mysql", "")           // whose messages they look like
//	committer, err := s.NewCommitter(ctx, sc) // opens the producer that the writers share
//	writer, err := s.NewWriter(ctx, sc)
//
// Exactly once, all writers of a pipeline write into one transaction, which holds one
// checkpoint:
//
//	writer 0: encode --+                        barrier n: the writers hold back what
//	writer 1: encode --+--> open transaction    they have for n+1 until transaction n is
//	writer 2: encode --+                        flushed by the committer
//
// A checkpoint that is given up when some writers have passed its barrier holds those up
// until its time is over; what they write then belongs to the next one.
//
// A key has its writer, so its order is kept. The committer flushes the
// transaction at the barrier and ends it when the checkpoint is stored; see package txn
// for what happens when something fails between the two.
//
// Debezium's messages, and rows in other formats, are made by pure packages: debezium,
// canal, plain and avro. The sink chooses the encoder of each table; where messages are in
// Avro it keeps their schemas in a registry, by package registry:
//
//	debezium-json, debezium-avro  changes; in Avro they are made of the JSON, in one pass
//	canal-json                    changes as Canal writes them
//	json, csv, avro               rows; a delete is a message without a value
//
// The memory is bounded by buffer.memory and one piece of each writer: an encoder goes on
// only when the producer has taken what it wrote.
package kafka
