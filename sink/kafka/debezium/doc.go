// Package debezium turns rows into the messages that Debezium 3.6 writes for them:
// the envelope with before, after and source, as JsonConverter prints it, with and
// without schemas. It is pure: batches in, bytes out.
//
//	e, err := debezium.New(table, "shop.public.orders", debezium.Options{
//		Connector: debezium.PostgreSQL, Prefix: "shop", Database: "shop",
//	})
//	var out debezium.Output
//	err = e.Append(&out, batch, nil, origin, time.Now().UnixNano())
//	for i := range out.Messages {
//		key, value := out.Key(i), out.Value(i)
//		...
//	}
//
// An [Encoder] belongs to one version of a table. It chooses a writer for each
// column once; a row then costs no allocation but the growth of the output.
//
// What a source block says beyond what a [schema.Batch] carries comes as an [Origin].
//
// # Where it differs from Debezium
//
// Debezium loses or garbles some values. Here they are written as they are:
//
//   - an ENUM's label with a comma in it, which Debezium's stream escapes, and labels
//     with characters above U+FFFF
//   - a numeric with a negative scale has it, not its lower eleven bits
//   - bit[] and arrays of several dimensions, elements that are NULL in an array of an enum
//   - infinite dates are the smallest and the largest number
//
// A NaN where a number must be is a [ValueError], never a NULL.
package debezium
