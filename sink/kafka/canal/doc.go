// Package canal turns rows into the flat messages that Canal 1.1.8 writes for them
// (canal-json): one row a message, each value as a text, the columns that an update has
// changed as they were before. It is pure: batches in, bytes out.
//
//	e, err := canal.New(table, canal.Options{})
//	var out plain.Output
//	err = e.Append(&out, batch, nil, canal.Origin{}, time.Now().UnixNano())
//	for i := range out.Messages {
//		key, value := out.Key(i), out.Value(i)
//		...
//	}
//
// An [Encoder] belongs to one version of a table. It chooses a writer for each
// column once; a row then costs no allocation but the growth of the output.
//
// As in Canal an ENUM is the number of its label, a SET and a BIT are their bits as a number,
// TINYINT(1) is a number, a fraction of a second has the digits that its column declares,
// and bytes are the characters of their numbers. The sqlType of an unsigned number is
// the next larger type where its value does not fit the signed one.
//
// # Where it differs from Canal
//
//   - es has milliseconds, not whole seconds, and a TIMESTAMP is in UTC if no zone is given,
//     not in that of the process
//   - id is always 0: a message belongs to no batch
//   - the sqlType of a NULL is that of its column's other values
//   - an update of the key is a DELETE and an INSERT, so that each is in the order of its key
//   - old is the changed columns of the row itself, not of all rows of its event
//   - a value that the server did not send is an error if [Options.OmitUnchanged] does not
//     leave its column out
package canal
