// Package wire is a connection to MySQL or MariaDB: log in, small queries, a
// SELECT as a stream of raw row packets, and the dump of the binlog.
//
// It speaks the client/server protocol itself, because the rows of a snapshot and
// the events of a binlog are wanted as they come, out of one large buffer, and
// because every call can be cancelled. After an error that is not the server's own
// answer to a statement, and after every cancelled call, the connection is closed for good.
//
//	conn, err := wire.Connect(ctx, wire.Config{Host: "localhost", Port: 3306, User: "freshet", Password: secret})
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	err = conn.Stream(ctx, "SELECT id, name FROM shop.orders", func(row []byte) error {
//		cell, null, rest, err := wire.NextCell(row)
//		...
//	})
package wire
