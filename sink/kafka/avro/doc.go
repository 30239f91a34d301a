// Package avro writes Avro's binary encoding, and the schemas that belong to it, for the
// two kinds of messages that have it. It is pure: no registry, no network.
//
// Rows as they are come from Arrow columns. [New] chooses the [Cell] of a column's
// type, [Record] makes the schema around them:
//
//	c, text, err := avro.New(schema.Timestamp(6), "shop.public.orders.Value_placed")
//	c.Bind(batch.Record.Column(2))
//	dst, err = c.Append(dst, row)
//
// Debezium's messages have a schema of Kafka Connect. [Derive] makes Avro's out of it, as
// the AvroData of Confluent's and Apicurio's converters does, and a [Codec] that turns the JSON
// of the package debezium into binary data in one pass, without a value in between:
//
//	codec, err := avro.Derive(connectSchema)
//	dst, err = codec.Append(dst, payload)
//
// Neither costs an allocation per row but the growth of the output.
package avro
