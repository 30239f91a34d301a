// Package event parses the events of a binlog: bytes to structs, nothing else.
//
// What a parser returns points into the event's buffer and lives as long as it.
// The structs are meant to be used again, so that following a log allocates
// nothing for an event. The cells of a row are not parsed here: [Rows] ends where
// they begin.
//
//	h, err := event.ParseHeader(buf)
//	if err != nil {
//		return err
//	}
//	body, err := format.Body(h, buf) // checks the checksum
//	if err != nil {
//		return err
//	}
//	var rows event.Rows
//	if h.Type.IsRows() {
//		err = rows.Parse(format, h.Type, body)
//	}
//
// MariaDB and MySQL share the types up to 39; MySQL's newer ones go on from 40,
// MariaDB's begin at 160.
package event
