//go:build unix

package binlog

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

const backlogSQL = `CREATE PROCEDURE fill() BEGIN DECLARE i INT DEFAULT 0;
	WHILE i < 200000 DO
		START TRANSACTION;
		REPEAT
			INSERT INTO orders VALUES (i, i % 5000, 'new', i % 9000, REPEAT('n', 80), '2026-11-30 06:12:34.567', '2026-11-30 07:12:34.567');
			UPDATE orders SET status = 'delivered', updated_at = '2026-11-30 08:12:34.567' WHERE id = i;
			SET i = i + 1;
		UNTIL i % 50 = 0 END REPEAT;
		COMMIT;
	END WHILE; END`

// BenchmarkBacklog reads 400,000 changes, each a statement of its own, in
// transactions of 100, that were there before it began, over TCP, and mysqlbinlog the
// same to a file.
func BenchmarkBacklog(b *testing.B) {
	const changes = 400_000
	for _, name := range []string{"MySQL97", "MariaDB118"} {
		b.Run(name, func(b *testing.B) {
			s := mysqltest.Private(b, name, "innodb-buffer-pool-size=512M", "max-binlog-size=1G")
			db := mysqltest.Open(b, s.Server)
			db.Exec("FLUSH BINARY LOGS")
			o := serverOptions(b, db)
			d := ordersDefinition()
			d.ID.Schema = db.Database
			db.Exec("CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT, status VARCHAR(20), amount DECIMAL(12,2), note VARCHAR(120), created_at DATETIME(3), updated_at DATETIME(3)) CHARSET utf8mb4",
				backlogSQL)
			o.Start, _ = place(b, db.Session, s.MariaDB)
			o.Catalog = ddl.NewCatalog(o.Catalog.Options(), nil, []ddl.Definition{d})
			o.Before = false
			db.Exec("CALL fill()")
			for b.Loop() {
				nextServerID++
				o.ServerID = nextServerID
				begin, cpu := time.Now(), cpuTime()
				stream := openStream(b, s.Server, o)
				rows, groups := 0, 0
				for rows < changes {
					g := <-stream.Groups()
					if g == nil {
						b.Fatal(stream.Err())
					}
					for _, r := range g.Rows {
						rows += r.Batch.Rows()
					}
					groups++
					g.Release()
				}
				b.ReportMetric(changes/time.Since(begin).Seconds(), "changes/s")
				b.ReportMetric((cpuTime()-cpu)/1e3/changes, "us/change")
				b.ReportMetric(float64(groups), "groups")
				if err := stream.Close(); err != nil {
					b.Fatal(err)
				}
			}
			benchFloor(b, s, o.Start, changes)
		})
	}
}

// benchFloor reads the same with the server's own client.
func benchFloor(b *testing.B, s *mysqltest.PrivateServer, from Place, changes float64) {
	program, script := "mysqlbinlog", "mysql97.sh"
	args := []string{"--ssl-mode=DISABLED", "--get-server-public-key"}
	if s.MariaDB {
		program, script, args = "mariadb-binlog", "mariadb118.sh", []string{"--skip-ssl"}
	}
	bin, err := exec.Command("bash", filepath.Join("..", "..", "..", "e2e", "servers", script), "bin").Output()
	if err != nil {
		b.Fatal(err)
	}
	args = append(args, "--read-from-remote-server", "--raw", "--result-file="+b.TempDir()+"/", "--host="+s.Host, "--port="+strconv.Itoa(s.Port), "--user="+s.User,
		"--password="+s.Password, "--start-position="+strconv.FormatUint(from.Offset, 10), from.File)
	begin := time.Now()
	if out, err := exec.Command(filepath.Join(strings.TrimSpace(string(bin)), program), args...).CombinedOutput(); err != nil {
		b.Logf("no floor: %v %s", err, out)
		return
	}
	b.ReportMetric(changes/time.Since(begin).Seconds(), "floor-changes/s")
}
