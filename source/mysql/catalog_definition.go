package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// definitions reads the definitions of all tables of some databases.
type definitions struct {
	server  server
	held    map[string]bool // the databases
	byID    map[schema.TableID]*ddl.Definition
	engines map[schema.TableID]string
}

func (d *definitions) read(ctx context.Context, conn *wire.Conn) error {
	d.engines = map[schema.TableID]string{}
	for _, step := range []func(context.Context, *wire.Conn) error{d.tables, d.columns, d.keys, d.order} {
		if err := step(ctx, conn); err != nil {
			return err
		}
	}
	return nil
}

func (d *definitions) sorted() []ddl.Definition {
	var out []ddl.Definition
	for _, id := range slices.SortedFunc(maps.Keys(d.byID), compareIDs) {
		if len(d.byID[id].Columns) > 0 { // else dropped between two queries
			out = append(out, *d.byID[id])
		}
	}
	return out
}

// query asks information_schema for all rows of the databases.
func (d *definitions) query(ctx context.Context, conn *wire.Conn, columns, view, more string, fn func(id schema.TableID, row []wire.Value)) error {
	sql := "SELECT TABLE_SCHEMA, TABLE_NAME, " + columns + " FROM information_schema." + view + " WHERE TABLE_SCHEMA IN " + literals(slices.Sorted(maps.Keys(d.held))) + more
	r, err := conn.Query(ctx, sql)
	if err != nil {
		return fmt.Errorf("read information_schema.%s: %w", view, err)
	}
	for _, row := range r.Rows {
		// The comparison above knows no case.
		if id := (schema.TableID{Schema: row[0].String(), Table: row[1].String()}); d.held[id.Schema] {
			fn(id, row[2:])
		}
	}
	return nil
}

func (d *definitions) tables(ctx context.Context, conn *wire.Conn) error {
	return d.query(ctx, conn, "TABLE_TYPE, ENGINE, TABLE_COLLATION, TABLE_COMMENT", "TABLES", " AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')", func(id schema.TableID, row []wire.Value) {
		name := collation.Canonical(row[2].String())
		d.byID[id] = &ddl.Definition{ID: id, Versioned: row[0].String() == "SYSTEM VERSIONED", Collation: name, Charset: collation.Charset(name), Comment: row[3].String()}
		d.engines[id] = strings.ToLower(row[1].String())
	})
}

func (d *definitions) columns(ctx context.Context, conn *wire.Conn) error {
	const columns = "COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT, GENERATION_EXPRESSION"
	return d.query(ctx, conn, columns, "COLUMNS", " ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION", func(id schema.TableID, row []wire.Value) {
		t := d.byID[id]
		if t == nil {
			return // a view
		}
		c := ddl.Column{Definition: value.Definition{Name: row[0].String(), ColumnType: row[1].String(), Charset: row[2].String(), Collation: collation.Canonical(row[3].String()),
			Nullable: row[4].String() == "YES", Comment: row[7].String()}}
		d.extra(&c, strings.ToUpper(row[6].String()), row[8].String())
		d.defaultOf(&c, row[5], strings.ToUpper(row[6].String()))
		t.Columns = append(t.Columns, c)
	})
}

// extra reads what EXTRA says of a column.
func (d *definitions) extra(c *ddl.Column, extra, expression string) {
	c.AutoIncrement = strings.Contains(extra, "AUTO_INCREMENT")
	c.Invisible = strings.Contains(extra, "INVISIBLE")
	switch {
	case d.server.mariadb() && expression == "ROW START":
		c.SystemTime = "START"
	case d.server.mariadb() && expression == "ROW END":
		c.SystemTime = "END"
	case strings.Contains(extra, "VIRTUAL GENERATED"):
		c.Generated, c.Expression = "VIRTUAL", expression
	case strings.Contains(extra, "STORED GENERATED"), strings.Contains(extra, "PERSISTENT"):
		c.Generated, c.Expression = "STORED", expression
	}
}

// defaultOf reads COLUMN_DEFAULT: MySQL prints a literal without quotes and marks an
// expression in EXTRA, MariaDB prints what would stand in CREATE TABLE.
func (d *definitions) defaultOf(c *ddl.Column, v wire.Value, extra string) {
	if v.Null() || c.Generated != "" || c.SystemTime != "" {
		return
	}
	text := v.String()
	if !d.server.mariadb() {
		c.Default, c.DefaultIsExpression = &text, strings.Contains(extra, "DEFAULT_GENERATED")
		return
	}
	switch {
	case text == "NULL":
	case strings.HasPrefix(text, "'"):
		literal := unquote(text)
		c.Default = &literal
	default:
		c.Default, c.DefaultIsExpression = &text, !isNumber(text)
	}
}

// unquote reads a literal as MariaDB prints it.
func unquote(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'")
	return strings.NewReplacer("''", "'", `\\`, `\`, `\0`, "\x00", `\n`, "\n", `\r`, "\r", `\'`, "'").Replace(s)
}

// isNumber recognizes the literals that are printed without quotes.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] == '.' || s[0] >= '0' && s[0] <= '9') || strings.HasPrefix(s, "b'") || strings.HasPrefix(s, "x'")
}

// keys reads the indexes. What order they have at the server shows in MariaDB only.
func (d *definitions) keys(ctx context.Context, conn *wire.Conn) error {
	columns := "INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME, SUB_PART, "
	order := ""
	switch {
	case d.server.mariadb():
		columns += "NULL"
	case d.server.version.AtLeast(8, 0, 13):
		columns += "EXPRESSION"
		order = " ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
	default:
		columns += "NULL"
		order = " ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"
	}
	return d.query(ctx, conn, columns, "STATISTICS", order, func(id schema.TableID, row []wire.Value) {
		t := d.byID[id]
		if t == nil {
			return
		}
		name := row[0].String()
		if n := len(t.Keys); n == 0 || t.Keys[n-1].Name != name {
			t.Keys = append(t.Keys, d.newKey(id, name, row))
		}
		k := &t.Keys[len(t.Keys)-1]
		part := ddl.KeyPart{Column: row[3].String()}
		if n, err := row[4].Int(); err == nil {
			part.Prefix = int(n)
		}
		if !row[5].Null() { // an expression: the server keeps it in a column of its own
			part.Column = fmt.Sprintf("!hidden!%s!%d!0", name, len(k.Parts))
			t.Columns = append(t.Columns, ddl.Column{Definition: value.Definition{Name: part.Column, Nullable: true, Generated: "VIRTUAL"}, Hidden: true, Expression: row[5].String()})
		}
		k.Parts = append(k.Parts, part)
	})
}

func (d *definitions) newKey(id schema.TableID, name string, row []wire.Value) ddl.Key {
	kind := strings.ToUpper(row[2].String())
	k := ddl.Key{Name: name, Primary: name == "PRIMARY", Unique: row[1].String() == "0"}
	k.Other = kind == "FULLTEXT" || kind == "SPATIAL" || kind == "RTREE" || kind == "VECTOR"
	// An engine with hash indexes of its own needs no hidden column for one.
	k.Hash = d.server.mariadb() && kind == "HASH" && k.Unique && d.engines[id] != "memory" && d.engines[id] != "heap"
	return k
}

// order asks MySQL for the order of the indexes of each table whose rows have
// several candidates for their key, so that ours is the server's choice.
func (d *definitions) order(ctx context.Context, conn *wire.Conn) error {
	if d.server.mariadb() {
		return nil
	}
	for id, t := range d.byID {
		if !ambiguous(t) {
			continue
		}
		r, err := conn.Query(ctx, "SHOW KEYS FROM "+wire.Table(id.Schema, id.Table))
		if wire.Code(err) == errNoSuchTable {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the keys of table %s: %w", id, err)
		}
		rank := map[string]int{}
		for i := range r.Rows {
			name := r.Value(i, "Key_name").String()
			if _, seen := rank[name]; !seen {
				rank[name] = len(rank)
			}
		}
		slices.SortStableFunc(t.Keys, func(a, b ddl.Key) int { return rank[a.Name] - rank[b.Name] })
	}
	return nil
}

// ambiguous says that a table has no primary key and several unique ones.
func ambiguous(t *ddl.Definition) bool {
	unique := 0
	for _, k := range t.Keys {
		if k.Primary {
			return false
		}
		if k.Unique {
			unique++
		}
	}
	return unique > 1
}
