package wire

import (
	"fmt"
	"strings"
)

// settings make every session print and compare values alike, whoever configured
// the server or the account. They also take away limits that would cut a long
// read, or, as sql_select_limit, cut it without a word.
func (c *Conn) settings() error {
	set := []string{
		"time_zone = '+00:00'", // TIMESTAMP as the instant that the binlog has, without the hours that a zone repeats
		"sql_mode = ''",        // backslash escapes, double quotes for strings, no padding of CHAR
		"autocommit = 1",
		"completion_type = 0",
		"sql_select_limit = 18446744073709551615",
		"sql_big_selects = 1",
		"sql_auto_is_null = 0",
		"net_read_timeout = 3600",
		"net_write_timeout = 3600", // a slow consumer is no dead one
		"wait_timeout = 86400",
	}
	if c.flavor == MariaDB {
		set = append(set, "max_statement_time = 0", "idle_transaction_timeout = 0", "idle_readonly_transaction_timeout = 0",
			"idle_write_transaction_timeout = 0", "system_versioning_asof = DEFAULT")
	} else {
		set = append(set, "max_execution_time = 0")
	}
	for _, sql := range []string{"SET NAMES utf8mb4", "SET SESSION " + strings.Join(set, ", SESSION ")} {
		if err := c.exec(sql); err != nil {
			return fmt.Errorf("the session's settings: %w", err)
		}
	}
	c.idle.Store(true)
	return nil
}
