package snapshot

import (
	"context"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// MariaDB (10.11, 11.8) orders CHAR in a NOPAD collation in two ways: an index as if
// blanks filled the column, a comparison without them. They differ for characters
// that come before a blank: a range of 'A' misses 'A\t', which the index has before
// 'A'. Such a key is read only while no value has one of them: control characters and
// Unicode's separators of lines and paragraphs.
const beforeBlank = `'[\\x00-\\x1F\\x7F-\\x9F\\x{2028}\\x{2029}]'`

// beforeBlank is the condition that a value has such a character.
func (c KeyColumn) beforeBlank() string {
	return "CONVERT(" + wire.Ident(c.Name) + " USING utf8mb4) REGEXP " + beforeBlank
}

// checkNoPad marks the columns of a key that are ordered in two ways, and fails where
// the table has a value for which that matters.
func checkNoPad(ctx context.Context, conn *wire.Conn, t *schema.Table, k *Key) error {
	if conn.Flavor() != wire.MariaDB {
		return nil
	}
	res, err := conn.Query(ctx, fmt.Sprintf("SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND DATA_TYPE = 'char' AND COLLATION_NAME LIKE '%%nopad%%'",
		wire.Literal(t.ID.Schema), wire.Literal(t.ID.Table)))
	if err != nil {
		return err
	}
	for _, row := range res.Rows {
		for i := range k.Columns {
			if c := &k.Columns[i]; c.Form == Text && strings.EqualFold(c.Name, row[0].String()) {
				c.NoPad = true
			}
		}
	}
	for _, c := range k.Columns {
		if !c.NoPad {
			continue
		}
		res, err := conn.Query(ctx, "SELECT 1 FROM "+tableName(t)+" WHERE "+c.beforeBlank()+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(res.Rows) > 0 {
			return errNoPad(c)
		}
	}
	return nil
}

func errNoPad(c KeyColumn) error {
	return fmt.Errorf("%w: key column %s is CHAR in a NOPAD collation and has values with control characters, for which MariaDB's index contradicts its comparisons: "+
		"make it VARCHAR, or give it a collation that pads, or leave the table out with tables.exclude", ErrAmbiguous, c.Name)
}
