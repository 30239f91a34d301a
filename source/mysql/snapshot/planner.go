package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// Plan looks at a table with a key and plans its snapshot. What the tail has passed
// must be visible already (see Cover), since rows that come later are not planned.
func (r *Reader) Plan(ctx context.Context, t *schema.Table, o Options) (p *Plan, err error) {
	err = r.retry(ctx, t.ID, "plan the snapshot", func(conn *wire.Conn) error {
		key, err := findKey(ctx, conn, t)
		if err != nil {
			return err
		}
		if err := checkNoPad(ctx, conn, t, &key); err != nil {
			return err
		}
		s, err := statistics(ctx, conn, t, &key)
		if err != nil {
			return err
		}
		p = NewPlan(key, s, o)
		return nil
	})
	return p, err
}

// Walk finds the next boundaries of a span; end says that the span's end is no
// further away than one chunk. It is for [Plan.Walked].
func (r *Reader) Walk(ctx context.Context, t *schema.Table, k *Key, w Walk) (bounds []Bound, end bool, err error) {
	err = r.retry(ctx, t.ID, "look for the end of a chunk", func(conn *wire.Conn) error {
		bounds, end = nil, false
		span := w.Span
		for range w.Steps {
			b, err := queryBound(ctx, conn, k, walkQuery(t, k, span, max(w.Rows, 1)))
			if err != nil {
				return err
			}
			if b == nil {
				end = true
				return nil
			}
			bounds = append(bounds, b)
			span.From = b
		}
		return nil
	})
	return bounds, end, err
}

// statistics asks for what NewPlan needs.
func statistics(ctx context.Context, conn *wire.Conn, t *schema.Table, k *Key) (s Statistics, err error) {
	res, err := conn.Query(ctx, fmt.Sprintf("SELECT TABLE_ROWS, AVG_ROW_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
		wire.Literal(t.ID.Schema), wire.Literal(t.ID.Table)))
	if err != nil {
		return s, err
	}
	if len(res.Rows) > 0 { // else the table is gone, as the next query says
		s.Rows, _ = res.Rows[0][0].Int()
		s.RowBytes, _ = res.Rows[0][1].Int()
	}
	if !k.ordered() { // an end by sorting all rows is no gain
		res, err := conn.Query(ctx, "SELECT 1"+k.from(tableName(t))+" LIMIT 1")
		s.Empty = err == nil && len(res.Rows) == 0
		return s, err
	}
	if s.First, err = queryBound(ctx, conn, k, edgeQuery(t, k, false)); err != nil {
		return s, err
	}
	s.Last, err = queryBound(ctx, conn, k, edgeQuery(t, k, true))
	s.Empty = s.First == nil || s.Last == nil
	return s, err
}

// findKey finds the index over the columns of the table's key: the primary key, or a
// unique one.
func findKey(ctx context.Context, conn *wire.Conn, t *schema.Table) (Key, error) {
	if !t.HasKey() {
		return Key{}, fmt.Errorf("%w: the table has none", ErrNoKey)
	}
	res, err := conn.Query(ctx, "SHOW INDEX FROM "+tableName(t))
	if err != nil {
		return Key{}, err
	}
	var names []string
	parts := map[string][]int{} // rows of the result
	for i := range res.Rows {
		if name := res.Value(i, "Key_name").String(); usable(res, i) {
			if parts[name] == nil {
				names = append(names, name)
			}
			parts[name] = append(parts[name], i)
		}
	}
	for _, name := range names { // the primary key comes first
		key, ok, err := indexKey(t, res, name, parts[name])
		if err != nil {
			return Key{}, err
		}
		if ok {
			return key, nil
		}
	}
	return Key{}, fmt.Errorf("%w: of %s no unique index has exactly the columns %s", ErrStale, t.ID, strings.Join(t.PrimaryKey, ", "))
}

// usable reports whether a row of SHOW INDEX belongs to an index that reads can be
// made to use: unique, of columns, and seen by the optimizer.
func usable(res *wire.Result, row int) bool {
	visible, ignored := res.Value(row, "Visible"), res.Value(row, "Ignored") // of MySQL and MariaDB
	return res.Value(row, "Non_unique").String() == "0" && visible.String() != "NO" && ignored.String() != "YES"
}

// indexKey makes the Key of an index, if its columns are those of the table's key.
func indexKey(t *schema.Table, res *wire.Result, name string, rows []int) (key Key, ok bool, err error) {
	if len(rows) != len(t.PrimaryKey) {
		return key, false, nil
	}
	key.Index = name
	for _, row := range rows {
		column := res.Value(row, "Column_name").String()
		at := slices.IndexFunc(t.PrimaryKey, func(k string) bool { return strings.EqualFold(k, column) })
		if at < 0 {
			return key, false, nil
		}
		c, _ := t.Column(t.PrimaryKey[at])
		part, err := keyColumn(c)
		if err != nil {
			return key, false, err
		}
		part.Descending = res.Value(row, "Collation").String() == "D"
		part.Prefix = !res.Value(row, "Sub_part").Null()
		key.Columns = append(key.Columns, part)
	}
	return key, true, nil
}

// keyColumn says how values of a column are written.
func keyColumn(c schema.Column) (KeyColumn, error) {
	k := KeyColumn{Name: c.Name}
	base, _, _ := strings.Cut(c.Source.Name, " ")
	switch base {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal":
		k.Form, k.Whole = Number, true
	case "year":
		k.Form = Number
	case "float", "double":
		k.Form = Float
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		k.Form, k.Charset = Text, c.Source.Charset
		switch k.Charset {
		case "binary":
			k.Form, k.Charset = Bytes, ""
		case "utf8":
			k.Charset = "utf8mb3" // what "_utf8" means is an option
		}
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		k.Form = Bytes
	case "enum":
		k.Form, k.Labels = Enum, len(c.Source.Enum)
	case "set", "bit":
		k.Form = Bits
	case "date", "datetime", "timestamp", "time", "uuid", "inet4", "inet6":
		k.Form = Plain
	default:
		return k, fmt.Errorf("%w: a key column of type %s", ErrNoKey, c.Source.Name)
	}
	return k, nil
}
