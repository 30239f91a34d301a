// Package format turns the messages of a topic into rows: debezium-json, debezium-avro,
// canal-json, json and avro.
//
//	d, err := format.New(format.Options{Value: "debezium-json"}, set)
//	err = d.Decode(ctx, &format.Message{Topic: "shop.orders", Key: key, Value: value, Position: 7})
//
// debezium-json takes messages with and without schemas, as each of them is. Operations
// become those of [schema.Op], but that a read is an insert: a connector reads a table again
// whenever it has to, over rows that are there. A tombstone right behind the delete of its key says
// nothing new; any other is a delete, since compaction leaves the tombstone alone. Heartbeats,
// transaction boundaries, logical messages and schema-change messages are no rows and are passed over; so
// are DDL messages of Canal, except for a TRUNCATE, since each message tells its columns itself.
//
// Without a schema columns are inferred: a whole number is a BIGINT (NUMERIC if it has more
// digits), one with a point a DOUBLE, objects and arrays are JSON; a field that has only been null
// has no column yet. That is why dates and decimals need a definition that the user gives.
package format
