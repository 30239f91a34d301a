package workload

import (
	"fmt"
	"strings"
)

var mysql = dialect{
	connect: connectMySQL,
	create:  createMySQL,
	queries: queries{
		transfer: "UPDATE accounts SET balance = balance + $2 / 100.00, version = version + 1, updated_at = NOW(6) WHERE id = $1",
		ledger:   "INSERT INTO ledger VALUES ($1, $2, $3, $4, $5 / 100.00, UTC_TIMESTAMP(3))",
		progress: "UPDATE progress SET transfers = $2, events = $3, transactions = $4 WHERE worker = $1",
		touch:    "UPDATE accounts SET version = version + 1 WHERE id = $1",
		event:    "INSERT INTO events VALUES ($1, $2, $3, $4, SHA2(CONCAT($1, ':', $2), 256))",

		strayAccount: "UPDATE accounts SET balance = balance + 1 WHERE id = $1",
		strayEvent:   "INSERT INTO events VALUES ($1, -1, 'never', NULL, '')",

		// What the arguments don't say follows from the version. MySQL 9 has no MD5.
		insert: `INSERT INTO documents VALUES ($1, $2, $3, $4, $6, $7, $8, $9, $10, DATE '1970-01-01' + INTERVAL $11 DAY, UNHEX(LEFT(SHA2($1, 256), 32)), $12,
			1 + $2 % 3, $2 % 8, 18446744073709551615 - $2, $1 * 1.000001, '2026-11-30 12:34:56.654321' + INTERVAL $2 SECOND, '1999-12-31 23:59:59.5',
			SEC_TO_TIME($1 % 86400) + INTERVAL 250000 MICROSECOND, $2 % 1024, 1901 + $2 % 255, 'fünf', SHA2(CONCAT($1, ':', $2), 256))`,
		remove:  "DELETE FROM documents WHERE id = $1",
		rekey:   "UPDATE documents SET id = $2, version = $3, checksum = SHA2(CONCAT($2, ':', $3), 256) WHERE id = $1",
		setBody: mysqlSet + "body = $3, bits = NULL, price = -$2 / 7 WHERE id = $1",
		setNull: mysqlSet + "title = NULL, meta = NULL, flag = NULL, day = NULL, status = NULL, labels = NULL, huge = NULL, latin = NULL WHERE id = $1",
		setSome: mysqlSet + `title = $3, score = $4, meta = JSON_SET(meta, '$.n', $2), status = 1 + $2 % 3, labels = $2 % 8, at = NOW(6),
			span = '23:59:59.999' WHERE id = $1`,
	},
}

const mysqlSet = "UPDATE documents SET version = $2, checksum = SHA2(CONCAT($1, ':', $2), 256), "

const mysqlTables = `
CREATE TABLE accounts (
    id         bigint PRIMARY KEY,
    owner      varchar(40) NOT NULL,
    balance    decimal(18, 2) NOT NULL,
    version    bigint NOT NULL,
    updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
);
CREATE TABLE ledger (
    worker int NOT NULL,
    seq    bigint NOT NULL,
    debit  bigint NOT NULL,
    credit bigint NOT NULL,
    amount decimal(18, 2) NOT NULL,
    at     datetime(3) NOT NULL,
    PRIMARY KEY (worker, seq)
);
CREATE TABLE progress (
    worker       int PRIMARY KEY,
    transfers    bigint NOT NULL,
    events       bigint NOT NULL,
    transactions bigint NOT NULL
);
CREATE TABLE documents (
    id       bigint PRIMARY KEY,
    version  bigint NOT NULL,
    title    varchar(100),
    body     mediumtext,
    meta     json,
    score    double,
    ratio    float,
    flag     tinyint(1),
    raw      varbinary(20),
    day      date,
    code     binary(16),
    small    smallint,
    status   enum('new', 'o,pen', 'zu ü'),
    labels   set('red', 'green', 'blü'),
    huge     bigint unsigned,
    price    decimal(25, 6),
    at       datetime(6),
    seen     timestamp(1) NULL,
    span     time(3),
    bits     bit(10),
    built    year,
    latin    varchar(20) CHARACTER SET latin1,
    checksum char(64) NOT NULL
);
CREATE TABLE events (
    worker   int NOT NULL,
    seq      bigint NOT NULL,
    kind     varchar(10),
    payload  text,
    checksum char(64) NOT NULL
)`

func createMySQL(c Config) []string {
	return []string{
		mysqlTables,
		fmt.Sprintf("INSERT INTO accounts SELECT i, CONCAT('owner ', i), %d, 1, '2026-01-01' FROM %s", InitialBalance, MySQLSeries(1, c.Accounts)),
		"INSERT INTO progress SELECT i, 0, 0, 0 FROM " + MySQLSeries(0, c.Workers-1),
		`INSERT INTO documents SELECT i, 1, CONCAT('title ', i), REPEAT(SHA2(i, 256), 1 + (i % 4) * 16), JSON_OBJECT('i', i, 's', 'ü, x'), i / 7, i / 3, i % 2 = 0,
			UNHEX(LEFT(SHA2(i, 256), 32)), DATE '2000-01-01' + INTERVAL i % 9000 DAY, UNHEX(LEFT(SHA2(i, 256), 32)), i % 30000, 1 + i % 3, i % 8, 9223372036854775808 + i, i / 3,
			DATE '2000-01-01' + INTERVAL i SECOND, '2020-02-02 02:02:02.2', SEC_TO_TIME(i), i % 1024, 2000, CONCAT('ä', i), SHA2(CONCAT(i, ':1'), 256)
			FROM ` + MySQLSeries(1, c.Documents),
		"INSERT INTO events SELECT -1, i, 'first', REPEAT('x', i % 50), SHA2(CONCAT('-1:', i), 256) FROM " + MySQLSeries(1, c.Events),
	}
}

// MySQLSeries returns SQL for a table with one column i that counts from first to
// last, in MySQL and MariaDB of any version.
func MySQLSeries(first, last int) string {
	const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	n := last - first + 1
	sum, from := fmt.Sprint(first), []string{}
	for place, k := 1, 0; k == 0 || place < n; place, k = place*10, k+1 {
		sum += fmt.Sprintf(" + %d * d%d.d", place, k)
		from = append(from, fmt.Sprintf("%s d%d", digits, k))
	}
	return fmt.Sprintf("(SELECT %s AS i FROM %s) series WHERE i <= %d", sum, strings.Join(from, ", "), last)
}
