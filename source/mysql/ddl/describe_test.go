package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

func printEffect(b *strings.Builder, e Effect) {
	fmt.Fprintf(b, "%s %s", e.Kind, e.Table)
	if !e.NewID.IsZero() {
		fmt.Fprintf(b, " to %s", e.NewID)
	}
	if !e.From.IsZero() {
		fmt.Fprintf(b, " from %s", e.From)
	}
	b.WriteString("\n")
	for _, c := range e.Changes {
		fmt.Fprintf(b, "  %s", c.Kind)
		for _, col := range c.Columns {
			fmt.Fprintf(b, " %s", col.Name)
			if c.Kind != schema.ChangeDropColumn {
				fmt.Fprintf(b, ":%s", strings.ReplaceAll(col.Type.String(), " ", ""))
			}
		}
		keys := make([]string, 0, len(c.Renames))
		for from, to := range c.Renames {
			keys = append(keys, from+">"+to)
		}
		slices.Sort(keys)
		for _, k := range keys {
			b.WriteString(" " + k)
		}
		if c.Kind != schema.ChangeTruncate {
			names := make([]string, len(c.After.Columns))
			for i, col := range c.After.Columns {
				names[i] = col.Name
			}
			fmt.Fprintf(b, "  = %s", strings.Join(names, ","))
		}
		b.WriteString("\n")
	}
	if e.RewritesRows {
		fmt.Fprintf(b, "  rewrites rows: %s\n", e.What)
	} else if e.What != "" && e.Err == nil {
		fmt.Fprintf(b, "  %s\n", e.What)
	}
	if e.Err != nil {
		err := e.Err.(*Error)
		fmt.Fprintf(b, "  %v: %s\n", err.Err, err.What)
	}
}

// describe prints a definition.
func describe(c *Catalog, id schema.TableID) string {
	d, ok := c.Definition(id)
	if !ok {
		return "no such table\n"
	}
	var b strings.Builder
	for _, col := range d.Columns {
		fmt.Fprintf(&b, "%d %s %s", col.Ordinal, col.Name, col.ColumnType)
		if col.Charset != "" {
			fmt.Fprintf(&b, " %s/%s", col.Charset, col.Collation)
		}
		if !col.Nullable {
			b.WriteString(" NOT NULL")
		}
		if col.Default != nil {
			fmt.Fprintf(&b, " DEFAULT %q", *col.Default)
			if col.DefaultIsExpression {
				b.WriteString(" (expression)")
			}
		}
		flag := func(is bool, text string) {
			if is {
				b.WriteString(" " + text)
			}
		}
		flag(col.AutoIncrement, "AUTO_INCREMENT")
		flag(col.Invisible, "INVISIBLE")
		flag(col.Hidden, "HIDDEN")
		flag(col.Generated != "", col.Generated)
		flag(col.Unlogged, "not in the log")
		flag(col.SystemTime != "", "ROW "+col.SystemTime)
		flag(col.Comment != "", fmt.Sprintf("COMMENT %q", col.Comment))
		b.WriteString("\n")
	}
	for _, k := range d.Keys {
		b.WriteString(describeKey(k))
	}
	fmt.Fprintf(&b, "default %s/%s", d.Charset, d.Collation)
	if d.Comment != "" {
		fmt.Fprintf(&b, ", comment %q", d.Comment)
	}
	if d.Versioned {
		b.WriteString(", versioned")
	}
	if d.Lost != "" {
		fmt.Fprintf(&b, ", lost: %s", d.Lost)
	}
	if t, err := d.Table(); err == nil {
		fmt.Fprintf(&b, ", version %d, rows told apart by (%s)", t.Version, strings.Join(t.PrimaryKey, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

func describeKey(k Key) string {
	parts := make([]string, len(k.Parts))
	for i, p := range k.Parts {
		if parts[i] = p.Column; p.Prefix > 0 {
			parts[i] += fmt.Sprintf("[%d]", p.Prefix)
		}
	}
	kind := "key"
	switch {
	case k.Primary:
		kind = "primary"
	case k.Unique:
		kind = "unique"
	case k.Other:
		kind = "other"
	}
	if k.Hash {
		kind += " hash"
	}
	if k.Generated {
		kind += " generated"
	}
	return fmt.Sprintf("%s %s (%s)\n", kind, k.Name, strings.Join(parts, ", "))
}
