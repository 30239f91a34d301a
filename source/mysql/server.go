package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// variables are the settings of the server that matter here. Each server lacks some of them.
var variables = []string{
	"log_bin", "binlog_format", "binlog_row_image", "binlog_row_metadata", "binlog_row_value_options", "server_id", "server_uuid", "server_uid",
	"gtid_mode", "enforce_gtid_consistency", "log_slave_updates", "log_replica_updates",
	"binlog_expire_logs_seconds", "binlog_expire_logs_auto_purge", "expire_logs_days",
	"lower_case_table_names", "collation_server", "character_set_collations", "show_gipk_in_create_table_and_information_schema", "innodb_native_foreign_keys", "hostname", "port",
}

// server is what a session knows of its server's settings.
type server struct {
	flavor  wire.Flavor
	version wire.Version
	vars    map[string]string // by name, lower case; missing ones are not there
}

// readServer asks for the settings.
func readServer(ctx context.Context, conn *wire.Conn) (server, error) {
	s := server{flavor: conn.Flavor(), version: conn.Version(), vars: map[string]string{}}
	names := make([]string, len(variables))
	for i, v := range variables {
		names[i] = wire.Literal(v)
	}
	r, err := conn.Query(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("+strings.Join(names, ", ")+")")
	if err != nil {
		return s, fmt.Errorf("read the server's settings: %w", err)
	}
	for _, row := range r.Rows {
		s.vars[strings.ToLower(row[0].String())] = row[1].String()
	}
	return s, nil
}

func (s server) mariadb() bool { return s.flavor == wire.MariaDB }

// on says whether a setting is switched on; one that the server lacks is not.
func (s server) on(name string) bool {
	v := s.vars[name]
	return strings.EqualFold(v, "ON") || v == "1"
}

// first returns the first of several names of a setting that the server has.
func (s server) first(names ...string) (name, value string) {
	for _, n := range names {
		if v, ok := s.vars[n]; ok {
			return n, v
		}
	}
	return names[0], ""
}

// gtids says that every transaction has a GTID: always for MariaDB.
func (s server) gtids() bool {
	return s.mariadb() || strings.EqualFold(s.vars["gtid_mode"], "ON")
}

// identity tells servers apart across a failover. Before MariaDB had server_uid,
// only address and number tell them apart.
func (s server) identity() string {
	if _, id := s.first("server_uuid", "server_uid"); id != "" {
		return id
	}
	return fmt.Sprintf("%s:%s:%s", s.vars["hostname"], s.vars["port"], s.vars["server_id"])
}

// binlogStatus is the server's newest place, and what it leaves out of its binlog.
type binlogStatus struct {
	File string
	Pos  uint64
	// Executed is MySQL's set of GTIDs, which may lag behind the place but never
	// goes beyond it; empty without GTIDs and for MariaDB.
	Executed string
	// DoDB and IgnoreDB are binlog_do_db and binlog_ignore_db, separated by commas.
	DoDB, IgnoreDB string
}

// statusStatement is SHOW MASTER STATUS under its present name.
func statusStatement(f wire.Flavor, v wire.Version) string {
	if f == wire.MySQL && v.AtLeast(8, 2, 0) {
		return "SHOW BINARY LOG STATUS"
	}
	return "SHOW MASTER STATUS"
}

func readStatus(ctx context.Context, conn *wire.Conn) (binlogStatus, error) {
	r, err := conn.Query(ctx, statusStatement(conn.Flavor(), conn.Version()))
	if err != nil {
		return binlogStatus{}, fmt.Errorf("read the binlog's position: %w", err)
	}
	if len(r.Rows) == 0 {
		return binlogStatus{}, withHint(fmt.Errorf("%w: log_bin is OFF", ErrServerUnsuitable), "%s", hintLogBin)
	}
	s := binlogStatus{File: r.Value(0, "File").String(), DoDB: r.Value(0, "Binlog_Do_DB").String(), IgnoreDB: r.Value(0, "Binlog_Ignore_DB").String(),
		Executed: stripSpace(r.Value(0, "Executed_Gtid_Set").String())}
	if s.Pos, err = r.Value(0, "Position").Uint(); err != nil {
		return s, fmt.Errorf("read the binlog's position: %w", err)
	}
	return s, nil
}

// logs says whether the server writes changes of a database to its binlog.
func (s binlogStatus) logs(database string) bool {
	in := func(list string) bool {
		for _, name := range strings.Split(list, ",") {
			if strings.EqualFold(name, database) {
				return true
			}
		}
		return false
	}
	if s.DoDB != "" {
		return in(s.DoDB)
	}
	return !in(s.IgnoreDB)
}

// stripSpace removes the line breaks that MySQL prints into GTID sets.
func stripSpace(s string) string { return strings.Join(strings.Fields(s), "") }

// account returns the account of the session, quoted for GRANT.
func account(ctx context.Context, conn *wire.Conn) (string, error) {
	r, err := conn.Query(ctx, "SELECT CURRENT_USER()")
	if err != nil {
		return "", fmt.Errorf("read the account's name: %w", err)
	}
	name := r.Rows[0][0].String()
	host := "%"
	if at := strings.LastIndexByte(name, '@'); at >= 0 {
		name, host = name[:at], name[at+1:]
	}
	return wire.Literal(name) + "@" + wire.Literal(host), nil
}
