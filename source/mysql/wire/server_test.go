package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

func config(s *mysqltest.Server) wire.Config {
	return wire.Config{Host: s.Host, Port: s.Port, User: s.User, Password: s.Password, Timeout: 20 * time.Second}
}

func connect(t *testing.T, cfg wire.Config) *wire.Conn {
	t.Helper()
	c, err := wire.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func value(t *testing.T, c *wire.Conn, sql string) string {
	t.Helper()
	r, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	return r.Rows[0][len(r.Rows[0])-1].String()
}

func TestConnect(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		for mode, encrypted := range map[wire.TLSMode]bool{wire.TLSDisabled: false, wire.TLSPreferred: true, wire.TLSRequired: true} {
			cfg := config(s)
			cfg.TLS.Mode = mode
			// MariaDB makes a certificate of its own since 11.4.
			plain := s.Name == "MariaDB1011"
			if plain && mode == wire.TLSRequired {
				if _, err := wire.Connect(t.Context(), cfg); !errors.Is(err, wire.ErrTLS) {
					t.Errorf("required, and not offered: %v", err)
				}
				continue
			}
			c := connect(t, cfg)
			if s.MariaDB != (c.Flavor() == wire.MariaDB) || !strings.HasPrefix(value(t, c, "SELECT @@version"), c.Version().String()) {
				t.Errorf("%s %s", c.Flavor(), c.Version())
			}
			cipher := value(t, c, "SHOW STATUS LIKE 'ssl_cipher'")
			if (cipher != "") != (encrypted && !plain) {
				t.Errorf("%s: cipher %q", mode, cipher)
			}
		}
	})
}

func TestUnixSocket(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		cfg := config(s)
		path := value(t, connect(t, cfg), "SELECT @@socket")
		if !filepath.IsAbs(path) {
			path = filepath.Join(value(t, connect(t, cfg), "SELECT @@datadir"), path)
		}
		if _, err := net.Dial("unix", path); err != nil {
			t.Skipf("the server's socket is out of reach: %v", err)
		}
		cfg.Host, cfg.Port, cfg.Socket = "", 0, path
		c := connect(t, cfg)
		if cipher := value(t, c, "SHOW STATUS LIKE 'ssl_cipher'"); cipher != "" {
			t.Errorf("encrypted by %s, on a socket", cipher)
		}
	})
}

func TestSession(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		c := connect(t, config(s))
		r, err := c.Query(t.Context(), "SELECT @@time_zone AS zone, @@sql_mode AS mode, @@character_set_results AS results, 'ä€😀' AS text, FROM_UNIXTIME(1) AS epoch, NULL AS nothing, '' AS nil")
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"+00:00", "", "utf8mb4", "ä€😀", "1970-01-01 00:00:01", "", ""}
		for i, v := range r.Rows[0] {
			if v.String() != want[i] {
				t.Errorf("%s: %q", r.Columns[i], v)
			}
		}
		if !r.Value(0, "nothing").Null() || r.Value(0, "nil").Null() {
			t.Error("NULL and the empty text are the same")
		}
		if err := c.Exec(t.Context(), "SELECT 1 FROM nowhere.nothing"); wire.Code(err) == 0 {
			t.Error(err)
		}
		if got := value(t, c, "SELECT 1"); got != "1" {
			t.Errorf("after an error: %q", got)
		}
	})
}

func TestVerify(t *testing.T) {
	s := mysqltest.Named(t, "MySQL97")
	ca := filepath.Join(value(t, connect(t, config(s)), "SELECT @@datadir"), "ca.pem")
	if _, err := os.ReadFile(ca); err != nil {
		t.Skipf("the server's files can't be read: %v", err)
	}
	cfg := config(s)
	cfg.TLS = wire.TLSConfig{Mode: wire.TLSVerifyCA, CA: ca}
	connect(t, cfg)
	cfg.TLS.Mode = wire.TLSVerifyIdentity // its certificate is of another name
	if _, err := wire.Connect(t.Context(), cfg); !errors.Is(err, wire.ErrTLS) {
		t.Errorf("verify_identity: %v", err)
	}
	cfg.TLS = wire.TLSConfig{Mode: wire.TLSVerifyCA}
	if _, err := wire.Connect(t.Context(), cfg); !errors.Is(err, wire.ErrTLS) {
		t.Errorf("an unknown authority: %v", err)
	}
	// A client's certificate is asked for by the account.
	account := s.Account(t)
	s.Connect(t).Exec(fmt.Sprintf("ALTER USER %s REQUIRE X509", account.User))
	cfg = config(account)
	cfg.TLS = wire.TLSConfig{Mode: wire.TLSVerifyCA, CA: ca}
	if _, err := wire.Connect(t.Context(), cfg); wire.Code(err) != 1045 {
		t.Errorf("without a certificate: %v", err)
	}
	cfg.TLS.Cert, cfg.TLS.Key = filepath.Join(filepath.Dir(ca), "client-cert.pem"), filepath.Join(filepath.Dir(ca), "client-key.pem")
	connect(t, cfg)
}

func TestAuthentication(t *testing.T) {
	plugins := map[string][]string{
		"MySQL97":     {"caching_sha2_password", "sha256_password"},
		"MySQL80":     {"caching_sha2_password", "sha256_password", "mysql_native_password"},
		"MariaDB1011": {"mysql_native_password", "ed25519"},
		"MariaDB118":  {"mysql_native_password", "ed25519", "parsec"},
	}
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		admin := connect(t, config(s))
		for _, plugin := range plugins[s.Name] {
			if plugin == "ed25519" || plugin == "parsec" {
				if err := admin.Exec(t.Context(), "INSTALL SONAME 'auth_"+plugin+"'"); err != nil && wire.Code(err) != 1968 && wire.Code(err) != 1125 {
					t.Logf("%v", err)
				}
			}
			t.Run(plugin, func(t *testing.T) {
				account := s.Account(t)
				sql := fmt.Sprintf("ALTER USER %s IDENTIFIED WITH %s BY '%s'", account.User, plugin, account.Password)
				if s.MariaDB {
					sql = fmt.Sprintf("ALTER USER %s IDENTIFIED VIA %s USING PASSWORD('%s')", account.User, plugin, account.Password)
				}
				if err := admin.Exec(t.Context(), sql); err != nil {
					t.Skipf("the server has no %s: %v", plugin, err)
				}
				for _, mode := range []wire.TLSMode{wire.TLSDisabled, wire.TLSPreferred, wire.TLSDisabled} {
					cfg := config(account)
					cfg.TLS.Mode = mode
					connect(t, cfg)
					cfg.Password = "wrong-never-show"
					_, err := wire.Connect(t.Context(), cfg)
					if wire.Code(err) != 1045 || strings.Contains(err.Error(), cfg.Password) {
						t.Errorf("%s, a wrong password: %v", mode, err)
					}
				}
				admin.Exec(t.Context(), "FLUSH PRIVILEGES") // forgets what caching_sha2_password knows
			})
		}
	})
}

func TestStreamLargeRows(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		c := connect(t, config(s))
		if value(t, c, "SELECT @@max_allowed_packet") < "6" && s.MariaDB {
			t.Log("max_allowed_packet is the server's default")
		}
		// Rows of more than 16 MB are packets that go on: repeated 1 MB cells in one row.
		cell := "REPEAT('abcdefgh', 131072)"
		sql := "SELECT 1" + strings.Repeat(", "+cell, 33) + " UNION ALL SELECT 2" + strings.Repeat(", ''", 33)
		rows, total := 0, 0
		err := c.Stream(t.Context(), sql, func(row []byte) error {
			rows++
			for i := 0; len(row) > 0; i++ {
				cell, null, rest, err := wire.NextCell(row)
				if err != nil || null {
					return fmt.Errorf("cell %d: %v", i, err)
				}
				if len(cell) > 1 && !bytes.HasPrefix(cell, []byte("abcdefghabc")) {
					return fmt.Errorf("cell %d begins with %q", i, cell[:8])
				}
				total += len(cell)
				row = rest
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if rows != 2 || total != 33<<20+2 {
			t.Errorf("%d rows, %d bytes", rows, total)
		}
	})
}

func TestCancel(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		c := connect(t, config(s))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := c.Exec(ctx, "SELECT SLEEP(20)"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("it took %s", d)
		}
		if err := c.Exec(t.Context(), "SELECT 1"); !errors.Is(err, wire.ErrClosed) {
			t.Errorf("afterwards: %v", err)
		}
		// A connection that is closed under a running statement.
		c = connect(t, config(s))
		time.AfterFunc(50*time.Millisecond, func() { c.Close() })
		if err := c.Exec(t.Context(), "SELECT SLEEP(20)"); err == nil {
			t.Error("a closed connection goes on")
		}
	})
}

func TestConnectGivesUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var attempts atomic.Int32
	go func() {
		for {
			if c, err := silent.Accept(); err != nil {
				return
			} else if attempts.Add(1) == 1 {
				c.Close() // as a server that is starting
			}
		}
	}()
	cfg := wire.Config{Host: "127.0.0.1", Port: silent.Addr().(*net.TCPAddr).Port, User: "u", Timeout: 200 * time.Millisecond, Retries: 1}
	if _, err := wire.Connect(t.Context(), cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if n := attempts.Load(); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

func TestDump(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := mysqltest.Open(t, s)
		c := connect(t, config(s))
		executed := "SELECT @@GLOBAL.gtid_executed"
		if s.MariaDB {
			executed = "SELECT @@GLOBAL.gtid_binlog_pos"
		}
		before := value(t, c, executed)
		marker := "marker_" + db.Database
		db.Exec("CREATE TABLE "+marker+" (a INT)", "INSERT INTO "+marker+" VALUES (1)")

		// By GTID the dump has what comes behind, and then heartbeats.
		d := connect(t, config(s))
		if err := d.Dump(t.Context(), wire.DumpRequest{ServerID: 4000000001, ByGTID: true, GTIDSet: before, Heartbeat: time.Second}); err != nil {
			t.Fatal(err)
		}
		if err := d.Exec(t.Context(), "SELECT 1"); err == nil {
			t.Error("a statement on a dump")
		}
		until(t, d, func(event []byte) bool { return bytes.Contains(event, []byte(marker)) })
		until(t, d, func(event []byte) bool { return event[4] == 27 || event[4] == 41 }) // a heartbeat of either version
		d.Close()

		// By place, to the end.
		files, err := c.Query(t.Context(), "SHOW BINARY LOGS")
		if err != nil {
			t.Fatal(err)
		}
		d = connect(t, config(s))
		last := files.Rows[len(files.Rows)-1][0].String()
		if err := d.Dump(t.Context(), wire.DumpRequest{ServerID: 4000000001, File: last, Position: 4, EndAtEOF: true}); err != nil {
			t.Fatal(err)
		}
		found := false
		for {
			event, err := d.ReadPacket()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(event, []byte(marker))
		}
		if !found {
			t.Error("the dump of the newest file lacks the newest statement")
		}

		// What does not exist is the server's error.
		d = connect(t, config(s))
		if err := d.Dump(t.Context(), wire.DumpRequest{ServerID: 4000000001, File: "nothing.000001", Position: 4}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ReadPacket(); wire.Code(err) != 1236 {
			t.Errorf("%v", err)
		}
	})
}

// until reads events until one is found.
func until(t *testing.T, d *wire.Conn, found func(event []byte) bool) {
	t.Helper()
	for {
		event, err := d.ReadPacket()
		if err != nil {
			t.Fatal(err)
		}
		if found(event) {
			return
		}
	}
}

func TestDumpEndsWithItsContext(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		d := connect(t, config(s))
		ctx, cancel := context.WithCancel(t.Context())
		executed := "SELECT @@GLOBAL.gtid_executed"
		if s.MariaDB {
			executed = "SELECT @@GLOBAL.gtid_binlog_pos"
		}
		if err := d.Dump(ctx, wire.DumpRequest{ServerID: 4000000002, ByGTID: true, GTIDSet: value(t, d, executed)}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(100*time.Millisecond, cancel)
		buf := make([]byte, 1<<16)
		for {
			if _, err := d.ReadRaw(buf); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
		}
	})
}

func TestDumpIsListed(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		c := connect(t, config(s))
		listed := func() bool {
			t.Helper()
			r, err := c.Replicas(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				return false
			}
			for i := range r.Rows {
				if r.Value(i, "Server_Id").String() == "4000000003" && r.Value(i, "Host").String() == "freshet" {
					return true
				}
			}
			return false
		}
		for _, hidden := range []bool{true, false} {
			d := connect(t, config(s))
			if err := d.Dump(t.Context(), wire.DumpRequest{ServerID: 4000000003, Position: 4, Hidden: hidden}); err != nil {
				t.Fatal(err)
			}
			if _, err := d.ReadPacket(); err != nil {
				t.Fatal(err)
			}
			if want := !hidden && s.Name != "MySQL80"; listed() != want {
				t.Errorf("hidden %v: listed %v", hidden, !want)
			}
			d.Close()
		}
	})
}

func TestDumpNeedsThePrivilege(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		account := s.Account(t)
		for _, hidden := range []bool{true, false} {
			d := connect(t, config(account))
			err := d.Dump(t.Context(), wire.DumpRequest{ServerID: 4000000004, Position: 4, Hidden: hidden})
			if err == nil {
				_, err = d.ReadPacket()
			}
			if code := wire.Code(err); code != 1045 && code != 1227 {
				t.Errorf("hidden %v: %v", hidden, err)
			}
		}
	})
}
