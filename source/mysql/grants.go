package mysql

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// A table without any privilege does not show in information_schema. Whether all tables of
// a database show is told by the account's grants: those on the database, or on all of them.
// What is not understood, such as a wildcard in the name, counts as none: less is concluded
// from a table that does not show then.

// grants are the databases all of whose tables the account may see.
type grants struct {
	all       bool
	databases map[string]bool
	revoked   map[string]bool // taken out of those on all (partial_revokes)
	fold      bool
}

var (
	granted = regexp.MustCompile("^GRANT (.+?) ON (\\*|[`\"].+?[`\"])\\.\\* TO ")
	revoked = regexp.MustCompile("^REVOKE .+? ON [`\"](.+?)[`\"]\\.")
)

// readGrants asks for the grants of the session's account.
func readGrants(ctx context.Context, conn *wire.Conn, s server) (grants, error) {
	r, err := conn.Query(ctx, "SHOW GRANTS")
	if wire.Code(err) != 0 {
		return grants{}, nil // the server has none
	}
	if err != nil {
		return grants{}, fmt.Errorf("read the account's grants: %w", err)
	}
	lines := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		lines[i] = row[0].String()
	}
	return parseGrants(lines, s.vars["lower_case_table_names"] != "0"), nil
}

func parseGrants(lines []string, fold bool) grants {
	g := grants{databases: map[string]bool{}, revoked: map[string]bool{}, fold: fold}
	for _, line := range lines {
		if m := revoked.FindStringSubmatch(line); m != nil {
			g.revoked[g.name(m[1])] = true
			continue
		}
		m := granted.FindStringSubmatch(line)
		switch {
		case m == nil || !selects(m[1]):
		case m[2] == "*":
			g.all = true
		default:
			g.databases[g.name(m[2][1:len(m[2])-1])] = true
		}
	}
	return g
}

// selects reports whether a list of privileges has SELECT.
func selects(list string) bool {
	for _, p := range strings.Split(list, ",") {
		if p = strings.TrimSpace(p); p == "SELECT" || p == "ALL PRIVILEGES" {
			return true
		}
	}
	return false
}

// name reads the name of a database in a grant.
func (g grants) name(s string) string {
	s = strings.NewReplacer("``", "`", `\_`, "_", `\%`, "%", `\\`, `\`).Replace(s)
	if g.fold {
		return strings.ToLower(s)
	}
	return s
}

// sees reports whether all tables of a database show.
func (g grants) sees(database string) bool {
	if g.fold {
		database = strings.ToLower(database)
	}
	return !g.revoked[database] && (g.all || g.databases[database])
}
