package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/freshet-cdc/freshet/e2e/servers"
	"github.com/freshet-cdc/freshet/e2e/workload"
)

// mysqlSettings are the same for the floor and for us: memory as a machine of this
// size would have it.
var mysqlSettings = []string{"innodb-buffer-pool-size=1G", "loose-innodb-redo-log-capacity=2G", "max-binlog-size=1G"}

const mysqlOrders = `CREATE TABLE orders (
    id          bigint PRIMARY KEY,
    customer_id bigint,
    status      varchar(16),
    amount      decimal(12, 2),
    note        varchar(120),
    created_at  datetime(3),
    updated_at  datetime(3)
)`

// mysqlFill makes the rows as for PostgreSQL; the digests are cut to the length of
// MD5, which MySQL 9 does not have. %s is a table of ids.
const mysqlFill = `INSERT INTO orders SELECT i, i * 7919 %% 500000, ELT(1 + i %% 6, 'new', 'paid', 'packed', 'shipped', 'delivered', 'returned'),
    (i * 104729 %% 10000000) / 100, CONCAT(LEFT(SHA2(i, 256), 32), ' ', LEFT(SHA2(i * 3, 256), 32), LEFT(SHA2(i * 5, 256), i %% 30)),
    '2025-01-01' + INTERVAL i * 1000 MICROSECOND, '2026-01-01' + INTERVAL i * 1000 MICROSECOND FROM %s`

const mysqlBacklog = `CREATE PROCEDURE write_backlog(changes int, base bigint)
BEGIN
    DECLARE inserted bigint DEFAULT base;
    DECLARE deleted bigint DEFAULT 0;
    DECLARE target bigint;
    DECLARE n, k int DEFAULT 0;
    START TRANSACTION;
    WHILE n < changes DO
        SET k = n % 10;
        IF k IN (0, 2, 4, 6, 8) THEN
            SET target = base DIV 2 + (n * 7919) % (base DIV 2);
            UPDATE orders SET status = 'changed', amount = amount + 1, updated_at = '2026-06-01' WHERE id = target;
        ELSEIF k IN (1, 5, 9) THEN
            SET inserted = inserted + 1;
            INSERT INTO orders VALUES (inserted, inserted % 500000, 'new', 12.34,
                'a note of about eighty characters that comes with an order that somebody has just made', '2026-06-01', '2026-06-01');
        ELSE
            SET deleted = deleted + 1;
            DELETE FROM orders WHERE id = deleted;
        END IF;
        IF n % 100 = 99 THEN COMMIT; START TRANSACTION; END IF;
        SET n = n + 1;
    END WHILE;
    COMMIT;
END`

// mysqlDB is a MySQL 9.7 server.
type mysqlDB struct {
	server *servers.Server
	url    *url.URL
	conn   *client.Conn
	// mysql and mariadb are the folders of their programs; out is where a floor writes.
	mysql, mariadb, out string
	// logStart is the binlog file that the backlog begins with.
	logStart string
}

func startMySQL(ctx context.Context, c config) (database, error) {
	if c.server != "" && c.server != "9.7" {
		return nil, fmt.Errorf("the figures of MySQL are measured on 9.7, not %s", c.server)
	}
	d := &mysqlDB{}
	var err error
	if d.mysql, err = servers.MySQLPrograms(ctx, "mysql97"); err != nil {
		return nil, err
	}
	if d.mariadb, err = servers.MySQLPrograms(ctx, "mariadb1011"); err != nil {
		return nil, err
	}
	if d.server, err = servers.StartMySQL(ctx, "mysql97", fmt.Sprintf("bench-%d", os.Getpid()), mysqlSettings...); err != nil {
		return nil, err
	}
	if err := d.open(ctx); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *mysqlDB) open(ctx context.Context) (err error) {
	if d.url, err = url.Parse(d.server.URL); err != nil {
		return err
	}
	if d.conn, err = client.ConnectWithContext(ctx, d.url.Host, d.url.User.Username(), d.password(), "", runTimeout); err != nil {
		return err
	}
	// Memory, so that the floor of the log isn't that of a disk.
	memory := "/dev/shm"
	if _, err := os.Stat(memory); err != nil {
		memory = ""
	}
	d.out, err = os.MkdirTemp(memory, "freshet-bench-*")
	return err
}

func (d *mysqlDB) password() string {
	password, _ := d.url.User.Password()
	return password
}

func (d *mysqlDB) describe() string { return "MySQL 9.7" }

func (d *mysqlDB) close() {
	if d.conn != nil {
		d.conn.Close()
	}
	os.RemoveAll(d.out)
	d.server.Wipe()
}

func (d *mysqlDB) source() (string, string, map[string]string) {
	return d.server.URL + "bench", `bench.orders`, map[string]string{"ssl.mode": "disabled"}
}

func (d *mysqlDB) cpu(ctx context.Context) time.Duration { return processCPU(ctx, d.server, itself) }

func (d *mysqlDB) execute(statements ...string) error {
	for _, sql := range statements {
		if _, err := d.conn.Execute(sql); err != nil {
			return fmt.Errorf("%.60s: %w", sql, err)
		}
	}
	return nil
}

func (d *mysqlDB) statement(_ context.Context, sql string) error { return d.execute(sql) }

// fill writes the rows past the binlog, which is to hold the backlog alone.
func (d *mysqlDB) fill(ctx context.Context, rows int) error {
	if err := d.execute("CREATE DATABASE bench", "USE bench", "SET sql_log_bin = 0", mysqlOrders, mysqlBacklog); err != nil {
		return err
	}
	const step = 500_000
	for first := 1; first <= rows && ctx.Err() == nil; first += step {
		if err := d.execute(fmt.Sprintf(mysqlFill, workload.MySQLSeries(first, min(first+step-1, rows)))); err != nil {
			return err
		}
	}
	if err := d.execute("ANALYZE TABLE orders", "SET sql_log_bin = 1"); err != nil {
		return err
	}
	return ctx.Err()
}

// scanFloor is the faster one of two clients streaming the table, one connection.
func (d *mysqlDB) scanFloor(ctx context.Context) (time.Duration, error) {
	var shortest time.Duration
	for _, program := range []string{filepath.Join(d.mariadb, "mariadb"), filepath.Join(d.mysql, "mysql")} {
		took, err := timed(d.client(ctx, program, "--quick", "-N", "-e", "SELECT * FROM bench.orders"))
		if err != nil {
			return 0, err
		}
		if shortest == 0 || took < shortest {
			shortest = took
		}
	}
	return shortest, nil
}

// client is a client program that logs in by TCP without TLS.
func (d *mysqlDB) client(ctx context.Context, program string, args ...string) *exec.Cmd {
	login := []string{"-h", d.url.Hostname(), "-P", d.url.Port(), "-u", d.url.User.Username(), "--protocol=tcp"}
	if filepath.Dir(program) == d.mysql {
		login = append(login, "--ssl-mode=DISABLED", "--get-server-public-key")
	} else {
		login = append(login, "--skip-ssl")
	}
	cmd := exec.CommandContext(ctx, program, append(login, args...)...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+d.password())
	return cmd
}

func (d *mysqlDB) writeBacklog(_ context.Context, changes, rows int) error {
	if err := d.execute("FLUSH BINARY LOGS"); err != nil {
		return err
	}
	result, err := d.conn.Execute("SHOW BINARY LOG STATUS")
	if err != nil {
		return err
	}
	if d.logStart, err = result.GetString(0, 0); err != nil {
		return err
	}
	return d.execute(fmt.Sprintf("CALL write_backlog(%d, %d)", changes, rows))
}

// logFloor is mysqlbinlog copying the binlog files as they are.
func (d *mysqlDB) logFloor(ctx context.Context) (time.Duration, error) {
	took, err := timed(d.client(ctx, filepath.Join(d.mysql, "mysqlbinlog"), "--read-from-remote-server", "--raw", "--to-last-log",
		"--result-file="+d.out+"/", d.logStart))
	files, _ := filepath.Glob(d.out + "/*")
	for _, file := range files {
		os.Remove(file)
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("mysqlbinlog wrote no file")
	}
	return took, err
}
