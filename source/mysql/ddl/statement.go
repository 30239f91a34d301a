package ddl

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// Statement is what a QUERY event of the binlog says. Of MariaDB's two-phase ALTER
// only the event that commits is applied, not the one that starts it.
type Statement struct {
	// SQL is the text in the character set of ClientCharset.
	SQL string
	// Database is the session's default, which may be empty.
	Database string
	// SQLMode has the bits of sql_mode.
	SQLMode uint64
	// ClientCharset, ServerCollation, DatabaseCollation and UTF8MB4Collation are numbers
	// of collations, 0 where the event has none: character_set_client, collation_server,
	// the default of Database, default_collation_for_utf8mb4.
	ClientCharset, ServerCollation, DatabaseCollation, UTF8MB4Collation uint16
	// CharsetCollations is MariaDB's character_set_collations as in the event: pairs
	// of the numbers of a character set's own default collation and of the one in its
	// place. nil: the event does not say.
	CharsetCollations []byte
	// ImplicitTimestamps: explicit_defaults_for_timestamp is off.
	ImplicitTimestamps bool
	// ThreadID is the session's, which its temporary tables belong to.
	ThreadID uint32
	// Position is where the statement lies in the log.
	Position uint64
}

// The bits of sql_mode that matter here; the servers agree on them.
const (
	modeRealAsFloat       = 1 << 0
	modeANSIQuotes        = 1 << 2
	modeOracle            = 1 << 9 // MariaDB
	modeNoAutoValueOnZero = 1 << 19
	modeNoBackslash       = 1 << 20
	modeStrictTrans       = 1 << 21
	modeStrictAll         = 1 << 22
	modeMaxDB             = 1 << 12
	modeEveryStrict       = modeStrictTrans | modeStrictAll
	charsetPairBytes      = 4
)

// strict reports whether values that don't fit are errors.
func (s Statement) strict() bool { return s.SQLMode&modeEveryStrict != 0 }

// text returns the statement in UTF-8. With an error it is as good as it gets.
func (s Statement) text(mariadb bool) (string, error) {
	if isASCII(s.SQL) {
		return s.SQL, nil
	}
	charset := collation.Charset(collation.Name(s.ClientCharset, mariadb))
	switch charset {
	case "", "utf8mb4", "utf8mb3", "binary":
		return strings.ToValidUTF8(s.SQL, string(utf8.RuneError)), nil
	}
	text, err := value.DecodeText(nil, charset, []byte(s.SQL))
	if err != nil {
		return strings.ToValidUTF8(s.SQL, string(utf8.RuneError)), fmt.Errorf("it is in the client's character set %s: %w", charset, err)
	}
	return string(text), nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// shorten cuts a statement for an error or a log.
func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// parse reads the statement. An error that is no *syntax.Error is about a text that
// can't be read, and the table that it is about can't be told.
func (s Statement) parse(o Options) (syntax.Statement, error) {
	so := syntax.Options{MariaDB: o.MariaDB, Version: o.Version, ANSIQuotes: s.SQLMode&modeANSIQuotes != 0, NoBackslashEscapes: s.SQLMode&modeNoBackslash != 0}
	sql, err := s.text(o.MariaDB)
	if err == nil {
		return syntax.Parse(sql, so)
	}
	tables, relevant := syntax.Tables(sql, so)
	switch {
	case !relevant:
		return nil, nil
	case len(tables) == 0 || slices.ContainsFunc(tables, func(t syntax.TableName) bool { return !isASCII(t.Database) || !isASCII(t.Table) }):
		return nil, fmt.Errorf("the statement %q at position %d can't be read: %w", shorten(s.SQL), s.Position, err)
	}
	return nil, &syntax.Error{Tables: tables, Near: shorten(sql), Want: "readable text (" + err.Error() + ")"}
}
