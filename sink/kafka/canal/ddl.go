package canal

import (
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// DDL is a statement that has changed a table.
type DDL struct {
	Table schema.TableID
	// Type is what it did: CREATE, ALTER, TRUNCATE or another name of Canal's.
	Type string
	SQL  string
	// Micros is when it was committed, in microseconds since 1970.
	Micros int64
	// GTID is the name of its transaction at its server, empty for none.
	GTID string
}

// AppendDDL appends the message of a statement, which has no key. now is the time of
// processing in nanoseconds since 1970.
func AppendDDL(out *plain.Output, d DDL, now int64) {
	start := len(out.Data)
	dst := appendString(append(out.Data, `{"data":null,"database":`...), d.Table.Schema)
	dst = strconv.AppendInt(append(dst, `,"es":`...), plain.FloorMillis(d.Micros, 1000), 10)
	dst = appendString(append(dst, `,"gtid":`...), d.GTID)
	dst = appendString(append(dst, `,"id":0,"isDdl":true,"mysqlType":null,"old":null,"pkNames":null,"sql":`...), d.SQL)
	dst = appendString(append(dst, `,"sqlType":null,"table":`...), d.Table.Table)
	dst = strconv.AppendInt(append(dst, `,"ts":`...), plain.FloorMillis(now, 1_000_000), 10)
	out.Data = append(appendString(append(dst, `,"type":`...), d.Type), '}')
	out.Messages = append(out.Messages, plain.Message{Key: plain.None, Value: plain.Span{Start: start, End: len(out.Data)}, Row: -1})
}

// Statement returns a statement of MySQL that does what a change has done, for sources
// that don't tell the one that was executed; ok is false for a change that is none. Types
// are printed as their server declares them, defaults are left out.
func Statement(c schema.Change) (d DDL, ok bool) {
	d = DDL{Table: c.Table, Type: "ALTER"}
	name := quoteName(c.Table.Table)
	if c.Table.Schema != "" {
		name = quoteName(c.Table.Schema) + "." + name
	}
	var parts []string
	switch c.Kind {
	case schema.ChangeCreateTable:
		d.Type, d.SQL = "CREATE", createTable(name, c.After)
		return d, true
	case schema.ChangeTruncate:
		d.Type, d.SQL = "TRUNCATE", "TRUNCATE TABLE "+name
		return d, true
	case schema.ChangeAddColumn:
		for _, col := range c.Columns {
			parts = append(parts, "ADD COLUMN "+columnDefinition(col))
		}
	case schema.ChangeDropColumn:
		for _, col := range c.Columns {
			parts = append(parts, "DROP COLUMN "+quoteName(col.Name))
		}
	case schema.ChangeRenameColumn:
		for from, to := range c.Renames {
			parts = append(parts, "RENAME COLUMN "+quoteName(from)+" TO "+quoteName(to))
		}
		slices.Sort(parts)
	case schema.ChangeAlterColumn:
		for _, col := range c.Columns {
			parts = append(parts, "MODIFY COLUMN "+columnDefinition(col))
		}
	}
	if len(parts) == 0 {
		return DDL{}, false
	}
	d.SQL = "ALTER TABLE " + name + " " + strings.Join(parts, ", ")
	return d, true
}

// createTable prints a statement that may be executed again: the change comes after
// every restart.
func createTable(name string, t *schema.Table) string {
	var parts []string
	for _, c := range t.Columns {
		parts = append(parts, columnDefinition(c))
	}
	if t.HasKey() {
		var key []string
		for _, k := range t.PrimaryKey {
			key = append(key, quoteName(k))
		}
		parts = append(parts, "PRIMARY KEY ("+strings.Join(key, ", ")+")")
	}
	text := "CREATE TABLE IF NOT EXISTS " + name + " (" + strings.Join(parts, ", ") + ")"
	return text + comment(t.Comment)
}

func columnDefinition(c schema.Column) string {
	text := quoteName(c.Name) + " " + columnType(c)
	if !c.Nullable {
		text += " NOT NULL"
	}
	return text + comment(c.Comment)
}

func comment(s string) string {
	if s == "" {
		return ""
	}
	return " COMMENT " + quoteText(strings.ReplaceAll(s, `\`, `\\`))
}

func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
