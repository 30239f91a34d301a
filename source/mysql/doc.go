// Package mysql captures the tables of one MySQL (8.0 or newer) or MariaDB (10.6
// or newer) server as an ordered log with exact snapshots inside it. It takes no lock.
//
// The log is the binlog, dumped over one connection by package binlog and decoded with
// the definitions that were in force where it was written (package ddl). The snapshot
// reads ranges of the key on connections of its own (package snapshot). Both give
// the same value for the same cell (package value); sessions are those of package wire.
//
// Positions are the number of a binlog file and an offset in it. Where the server
// has GTIDs, a connection begins with what the checkpoint lacks, so that the pipeline
// goes on at another server after a failover; without them, with file and offset.
//
//	src, err := mysql.New(map[string]string{
//		"hostname": "localhost", "username": "freshet", "password": secret, "tables": `shop.\.*`,
//	}, func(id schema.TableID) bool { return id.Schema == "shop" }, slog.Default())
//	if err != nil {
//		return err
//	}
//	for _, problem := range src.Check(ctx) {
//		fmt.Println(problem)
//	}
//
// # What the account needs
//
// SELECT on the captured tables, REPLICATION SLAVE, and REPLICATION CLIENT (for
// MariaDB BINLOG MONITOR, another name of it). Tables without any privilege do not show.
// A table that gh-ost or pt-online-schema-change swaps in is only known where the
// account sees its shadow table: grant SELECT on the whole database. Where applications
// use XA on MySQL, XA_RECOVER_ADMIN: only who has it can find at the start what is prepared.
//
// # Limits
//
// Rows that a foreign key changes (ON DELETE or ON UPDATE CASCADE, SET NULL) are in the
// binlog of MySQL from 9.6 on alone; elsewhere Discover, Check and the start of a reader name
// the tables that miss such changes.
//
// Without gtid_mode (MySQL) a snapshot is refused unless
// scan.snapshot.accept-without-gtid says otherwise. Engines without transactions
// (MyISAM, Aria, MEMORY) have no moment that a read could show: in an append sink a row
// that changes while it is read may come twice. MySQL 8.0 is not asked for its
// other replicas, since the list can take the server down: that two pipelines
// share a server-id shows there only when they end each other's dumps.
//
// MariaDB leaves generated columns out of the log of an UPDATE or DELETE, all of them since
// 11.4, before it the virtual ones where binlog_row_image is not FULL. These are not captured,
// which Discover and a line at the start tell.
package mysql
