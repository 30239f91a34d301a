// Package cell prints the values of columns as text, the same for each format that is
// made of text: numbers in decimal notation, dates and times as SQL or ISO 8601 has them.
//
// A [Cell] is chosen once for a column and bound to each of its batches; a value then
// costs no allocation but the growth of the output. What is put around a text, and what
// is escaped in it, is the format's own: [Class] tells it what may come.
//
//	c, class, err := cell.New(schema.Timestamp(6), cell.Options{})
//	c.Bind(batch.Record.Column(2))
//	dst, err = c.Append(dst, row)
package cell
