package ddl

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
)

// compareTable compares one table as both describe it.
func (c *serverCase) compareTable(id schema.TableID) {
	c.t.Helper()
	d, _ := c.c.Definition(id)
	if own, server := c.own(d), c.server(id); own != server {
		c.fail("table %s: the catalogue has\n%s\nthe server has\n%s", id, own, server)
	}
}

// server describes a table from information_schema.
func (c *serverCase) server(id schema.TableID) string {
	where := fmt.Sprintf(" WHERE table_schema = '%s' AND table_name = '%s'", id.Schema, id.Table)
	var b strings.Builder
	for _, r := range c.s.Query("SELECT column_name, column_type, is_nullable, ifnull(character_set_name, ''), ifnull(collation_name, ''), extra, column_comment, (column_default IS NOT NULL AND column_default <> 'NULL' OR extra LIKE '%DEFAULT_GENERATED%') AND column_type NOT LIKE '%COMPRESSED%' AND extra NOT LIKE '%auto_increment%' AND extra NOT LIKE '% GENERATED' FROM information_schema.columns" + where + " ORDER BY ordinal_position") {
		extra := strings.ToUpper(r[5])
		fmt.Fprintf(&b, "%s %s %s %s/%s auto=%v generated=%v/%v invisible=%v default=%s %q\n", r[0], r[1], r[2], collation.Canonical(r[3]), collation.Canonical(r[4]),
			strings.Contains(extra, "AUTO_INCREMENT"), strings.Contains(extra, "STORED GENERATED"), strings.Contains(extra, "VIRTUAL GENERATED"),
			strings.Contains(extra, "INVISIBLE"), r[7], r[6])
	}
	c.serverKeys(&b, id)
	r := c.s.Query("SELECT table_collation, table_comment FROM information_schema.tables" + where)[0]
	fmt.Fprintf(&b, "%s %q", collation.Canonical(r[0]), r[1])
	return b.String()
}

// serverKeys describes the keys: those that can tell rows apart in their order, the others by name.
func (c *serverCase) serverKeys(b *strings.Builder, id schema.TableID) {
	var order []string
	parts := map[string][]string{}
	kind := map[string]string{}
	d, _ := c.c.Definition(id)
	for _, r := range c.s.Query(fmt.Sprintf("SHOW INDEX FROM `%s`.`%s`", id.Schema, id.Table)) {
		name := r[2]
		if i := d.keyNamed(name); i >= 0 && d.ofGeometry(d.Keys[i]) {
			continue // what MariaDB makes of these changes from one statement to the next
		}
		if parts[name] == nil {
			order = append(order, name)
		}
		part := r[4]
		if part == "NULL" {
			part = "expression"
		}
		if r[7] != "NULL" && r[1] == "0" && r[10] != "HASH" { // the prefixes of other keys are of no use here
			part += "[" + r[7] + "]"
		}
		parts[name] = append(parts[name], part)
		switch {
		case r[10] == "HASH":
			kind[name] = "hash"
		case r[1] == "1":
			kind[name] = "key"
		case kind[name] == "" && r[9] == "" && r[7] == "NULL" && r[4] != "NULL":
			kind[name] = "identifying"
		case r[9] != "" || r[7] != "NULL" || r[4] == "NULL":
			kind[name] = "unique"
		}
	}
	keys := make([]string, len(order))
	for i, name := range order {
		keys[i] = fmt.Sprintf("%s %s (%s)\n", kind[name], name, strings.Join(parts[name], ", "))
	}
	printKeys(b, keys)
}

// printKeys prints the keys that can tell rows apart in their order where it matters,
// which is where there is no primary key.
func printKeys(b *strings.Builder, keys []string) {
	var identifying, others []string
	for _, k := range keys {
		if strings.HasPrefix(k, "identifying") && !strings.Contains(keys[0], primaryName) {
			identifying = append(identifying, k)
		} else {
			others = append(others, k)
		}
	}
	sort.Strings(others)
	b.WriteString(strings.Join(identifying, "") + strings.Join(others, ""))
}

// own describes a table of the catalogue in the same form.
func (c *serverCase) own(d *Definition) string {
	var b strings.Builder
	word := map[bool]string{true: "YES", false: "NO"}
	for _, col := range d.Columns {
		if col.Hidden {
			continue
		}
		def := "0"
		// Whether AUTO_INCREMENT takes a default depends on how the server alters the table,
		// and MariaDB keeps one of a generated column without a use.
		if col.Default != nil && !strings.Contains(col.ColumnType, "COMPRESSED") && !col.AutoIncrement && col.Generated == "" {
			def = "1"
		}
		fmt.Fprintf(&b, "%s %s %s %s/%s auto=%v generated=%v/%v invisible=%v default=%s %q\n", col.Name, col.ColumnType, word[col.Nullable], col.Charset, col.Collation,
			col.AutoIncrement, col.Generated == "STORED" || col.SystemTime != "", col.Generated == "VIRTUAL", col.Invisible, def, col.Comment)
	}
	var keys []string
	for _, k := range d.Keys {
		if d.ofGeometry(k) {
			continue
		}
		kind := "key"
		switch {
		case k.Hash:
			kind = "hash"
		case k.Unique && !slices.ContainsFunc(k.Parts, func(p KeyPart) bool {
			i := d.column(p.Column)
			return d.Columns[i].Nullable || p.Prefix > 0 || d.Columns[i].Hidden
		}):
			kind = "identifying"
		case k.Unique:
			kind = "unique"
		}
		parts := make([]string, len(k.Parts))
		for i, p := range k.Parts {
			parts[i] = p.Column
			if strings.HasPrefix(p.Column, "!") {
				parts[i] = "expression"
			}
			if p.Prefix > 0 && k.Unique && !k.Hash {
				parts[i] += fmt.Sprintf("[%d]", p.Prefix)
			}
		}
		keys = append(keys, fmt.Sprintf("%s %s (%s)\n", kind, k.Name, strings.Join(parts, ", ")))
	}
	printKeys(&b, keys)
	fmt.Fprintf(&b, "%s %q", d.Collation, d.Comment)
	return b.String()
}
