// Package plain turns rows into messages without an envelope: the row as an object of
// JSON or a line of CSV, as Flink 2.2 writes them, or as a record of Avro; a delete is a
// tombstone. It is pure: batches in, bytes out.
//
//	e, err := plain.New(table, plain.Options{Format: plain.JSON})
//	var out plain.Output
//	err = e.Append(&out, batch, nil, time.Now().UnixNano())
//	for i := range out.Messages {
//		key, value := out.Key(i), out.Value(i)
//		...
//	}
//
// An [Encoder] belongs to one version of a table. It chooses a writer for each
// column once; a row then costs no allocation but the growth of the output.
//
// # Where it differs from Flink
//
// Flink loses or garbles some values. Here they are written as they are, or are an error:
//
//   - a TIME in JSON has its fraction
//   - a text in CSV that looks as a NULL does is quoted
//   - what CSV can't hold is a [ValueError]: a text that would need quotes where
//     there are none, an element that holds the delimiter of elements or looks as a NULL does
//
// Types that Flink doesn't have are written so: a BIGINT UNSIGNED and a number of any size
// as numbers; intervals, UUIDs, JSON and times with an offset as texts; infinite dates
// as infinity and -infinity.
package plain
