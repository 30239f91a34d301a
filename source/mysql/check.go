package mysql

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Check connects and verifies settings, privileges and tables, without changing
// anything. Each problem is an error of its own with the way out. What only limits
// the pipeline is logged as a warning.
func (s *Source) Check(ctx context.Context) []error {
	conn, err := s.cfg.connect(ctx)
	if err != nil {
		return []error{err}
	}
	defer conn.Close()
	c := &checker{cfg: s.cfg, conn: conn, logger: s.logger}
	if c.server, err = readServer(ctx, conn); err != nil {
		return []error{err}
	}
	if c.account, err = account(ctx, conn); err != nil {
		return []error{err}
	}
	c.binlog()
	c.gtids()
	c.retention()
	c.replica(ctx)
	c.serverID(ctx)
	c.dump(ctx)
	c.tables(ctx)
	c.place(ctx)
	c.xa(ctx)
	return c.problems
}

type checker struct {
	cfg      *config
	conn     *wire.Conn
	logger   *slog.Logger
	server   server
	account  string // quoted for GRANT
	status   *binlogStatus
	problems []error
}

// bad records a problem of the given kind.
func (c *checker) bad(kind error, hint, format string, args ...any) {
	c.fail(withHint(fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...)), "%s", hint))
}

func (c *checker) fail(err error) { c.problems = append(c.problems, err) }

const (
	hintLogBin = "start the server with --log-bin and --binlog-format=ROW"
	hintGTID   = "SET GLOBAL enforce_gtid_consistency = ON; SET GLOBAL gtid_mode = OFF_PERMISSIVE; SET GLOBAL gtid_mode = ON_PERMISSIVE; SET GLOBAL gtid_mode = ON, and the same in the server's configuration"
)

// binlog checks how the server writes its binlog.
func (c *checker) binlog() {
	if !c.server.on("log_bin") {
		c.bad(ErrServerUnsuitable, hintLogBin, "log_bin is OFF")
		return
	}
	if f := c.server.vars["binlog_format"]; f != "" && !strings.EqualFold(f, "ROW") {
		c.bad(ErrServerUnsuitable, "SET GLOBAL binlog_format = 'ROW', and the same in the server's configuration; sessions that are open keep the old one", "binlog_format is %s: statements tell nothing about rows", f)
	}
	image := strings.ToUpper(c.server.vars["binlog_row_image"])
	partial := strings.Contains(strings.ToUpper(c.server.vars["binlog_row_value_options"]), "PARTIAL_JSON")
	switch {
	case image != "" && !strings.HasPrefix(image, "FULL") && partial:
		c.bad(ErrServerUnsuitable, "SET GLOBAL binlog_row_image = 'FULL', or SET GLOBAL binlog_row_value_options = ''",
			"binlog_row_image is %s and binlog_row_value_options is PARTIAL_JSON: a part of a JSON value without the value before it means nothing", image)
	case image != "" && !strings.HasPrefix(image, "FULL"):
		c.logger.Warn("binlog_row_image is "+image+": the binlog leaves out what an UPDATE did not change. A sink that finds old rows by key (iceberg with write.mode: upsert) fills it in; every other one stops at the first such row. Better: SET GLOBAL binlog_row_image = 'FULL'",
			"binlog_row_image", image)
	}
	if m := c.server.vars["binlog_row_metadata"]; m != "" && !strings.EqualFold(m, "FULL") {
		c.logger.Info("with binlog_row_metadata = FULL the binlog names columns, so that more changes of definitions can be followed and mistakes are noticed: SET GLOBAL binlog_row_metadata = 'FULL'", "binlog_row_metadata", m)
	}
}

// gtids checks what an exact snapshot needs of MySQL.
func (c *checker) gtids() {
	if c.server.gtids() || !c.cfg.snapshots() || c.cfg.withoutGTID {
		return
	}
	c.fail(noGTID(c.server))
}

// snapshots says whether the options can lead to a snapshot.
func (c *config) snapshots() bool {
	return c.mode == modeInitial || c.mode == modeSnapshot || c.addOnRestart || c.rereadRewritten
}

func noGTID(s server) error {
	return withHint(fmt.Errorf("%w: gtid_mode is %s", ErrNoGTID, s.vars["gtid_mode"]), "%s; or accept with scan.snapshot.accept-without-gtid: true that a transaction can be lost which is in the binlog, but not yet visible, when the snapshot of its table begins", hintGTID)
}

// minRetention is how long a pipeline that stands still should be able to go on.
const minRetention = 24 * time.Hour

// retention warns when the server throws its binlog away soon.
func (c *checker) retention() {
	keep, name := c.server.retention()
	if keep > 0 && keep < minRetention {
		c.logger.Warn("the server removes its binlog soon; a pipeline that stands still for longer has to begin anew",
			"setting", name, "kept", keep.String(), "better", "SET GLOBAL binlog_expire_logs_seconds = 259200")
	}
}

// retention returns how long the binlog is kept, 0 for ever, and the setting that says so.
func (s server) retention() (time.Duration, string) {
	if v, ok := s.vars["binlog_expire_logs_auto_purge"]; ok && !strings.EqualFold(v, "ON") {
		return 0, "binlog_expire_logs_auto_purge"
	}
	if n, err := strconv.ParseInt(s.vars["binlog_expire_logs_seconds"], 10, 64); err == nil && n > 0 {
		return time.Duration(n) * time.Second, "binlog_expire_logs_seconds"
	}
	if days, err := strconv.ParseFloat(s.vars["expire_logs_days"], 64); err == nil && days > 0 {
		return time.Duration(days * float64(24*time.Hour)), "expire_logs_days"
	}
	return 0, "binlog_expire_logs_seconds"
}

// replica checks that a replica writes what it replicates to its own binlog.
func (c *checker) replica(ctx context.Context) {
	name, value := c.server.first("log_replica_updates", "log_slave_updates")
	if value == "" || c.server.on(name) {
		return
	}
	isReplica, err := replicates(ctx, c.conn)
	hint := "start it with --" + strings.ReplaceAll(name, "_", "-") + "=ON, or capture from its source"
	switch {
	case err != nil && denied(err):
		c.logger.Warn("if this server is a replica, its binlog lacks what it replicates: "+hint, name, value)
	case err != nil:
		c.fail(err)
	case isReplica:
		c.bad(ErrServerUnsuitable, hint, "the server is a replica and %s is OFF: its binlog lacks what it replicates", name)
	}
}

// replicates says whether the server is a replica of another.
func replicates(ctx context.Context, conn *wire.Conn) (bool, error) {
	sql := "SHOW SLAVE STATUS"
	switch {
	case conn.Flavor() == wire.MariaDB:
		sql = "SHOW ALL SLAVES STATUS"
	case conn.Version().AtLeast(8, 0, 22):
		sql = "SHOW REPLICA STATUS"
	}
	r, err := conn.Query(ctx, sql)
	if err != nil {
		return false, err
	}
	return len(r.Rows) > 0, nil
}

func (c *checker) serverID(ctx context.Context) {
	if c.server.vars["server_id"] == "0" {
		c.bad(ErrServerUnsuitable, "SET GLOBAL server_id = 1, and the same in the server's configuration", "server_id is 0: the server refuses replicas")
		return
	}
	if _, err := c.cfg.chooseServerID(ctx, c.conn, c.server, ""); err != nil {
		c.fail(err)
	}
}

// dump checks the privileges for reading the binlog by using them.
func (c *checker) dump(ctx context.Context) {
	status, err := readStatus(ctx, c.conn)
	switch {
	case err == nil:
		c.status = &status
	case denied(err):
		c.bad(ErrPrivilege, "GRANT "+clientPrivilege(c.server)+" ON *.* TO "+c.account, "%s may not ask for the binlog's position", c.account)
	case c.server.on("log_bin"): // else it was said before
		c.fail(err)
	}
	if !c.server.on("log_bin") || c.server.vars["server_id"] == "0" {
		return // said before
	}
	// An empty name is the oldest file.
	r := wire.DumpRequest{Position: binlog.FirstOffset, EndAtEOF: true}
	err = c.cfg.scan(ctx, r, func(scanned) (bool, error) { return true, nil })
	if denied(err) {
		c.bad(ErrPrivilege, "GRANT REPLICATION SLAVE ON *.* TO "+c.account, "%s may not read the binlog", c.account)
	} else if err != nil {
		c.fail(err)
	}
}

// clientPrivilege is the privilege for SHOW BINARY LOGS and its like.
func clientPrivilege(s server) string {
	if s.mariadb() {
		return "BINLOG MONITOR"
	}
	return "REPLICATION CLIENT"
}
