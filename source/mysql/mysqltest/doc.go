// Package mysqltest gives tests real MySQL and MariaDB servers.
//
// e2e/run.sh installs and starts them and says where they are in FRESHET_MYSQL97_URL,
// FRESHET_MYSQL80_URL, FRESHET_MARIADB1011_URL and FRESHET_MARIADB118_URL. Tests
// share them, so none may reset or purge their binlogs, or set global variables; a
// test that has to takes a Private server.
//
//	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
//		db := mysqltest.Open(t, s)
//		db.Exec("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
//		rows := db.Query("SELECT id FROM t")
//	})
package mysqltest
