package readers

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Postgres is the PostgreSQL database that conn is connected to. The connection
// stays the caller's.
func Postgres(conn *pgx.Conn) Source { return postgresSource{conn} }

type postgresSource struct{ conn *pgx.Conn }

// postgresColumn says how a column of a type, for instance int4 or _text, is compared.
func postgresColumn(name, typ string, key int) column {
	id := pgx.Identifier{name}.Sanitize()
	c := column{name: name, key: key, text: id + "::text"}
	switch typ {
	case "timestamp":
		c.text, c.wire = "to_char("+id+`, 'YYYY-MM-DD"T"HH24:MI:SS.US')`, asMicros
	case "timestamptz":
		c.text, c.wire = "to_char("+id+` AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`, asInstant
	case "date":
		c.text, c.wire = "to_char("+id+", 'YYYY-MM-DD')", asDays
	case "time":
		c.text, c.wire = "to_char("+id+"::interval, 'HH24:MI:SS.US')", asMicrosOfDay
	case "bytea":
		c.text = "encode(" + id + ", 'hex')"
	case "money":
		c.text = id + "::numeric::text"
	case "float4":
		c.form = float32s
	case "float8":
		c.form = float64s
	}
	if strings.HasPrefix(typ, "_") {
		c.text = "array_to_json(" + id + ")::text"
		switch typ {
		case "_text", "_int4", "_int8", "_varchar":
			c.form = jsonValue
		}
	}
	return c
}

// columns returns the live columns, without stored generated ones.
func (s postgresSource) columns(ctx context.Context, table string) ([]column, error) {
	rows, err := s.conn.Query(ctx, `
SELECT a.attname, CASE WHEN t.typtype = 'd' THEN bt.typname ELSE t.typname END,
       coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)
FROM pg_attribute a
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type bt ON bt.oid = t.typbasetype
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attnum`, table)
	if err != nil {
		return nil, err
	}
	columns, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (column, error) {
		var name, typ string
		var key int
		err := row.Scan(&name, &typ, &key)
		return postgresColumn(name, typ, key), err
	})
	if err == nil && len(columns) == 0 {
		err = fmt.Errorf("readers: %s has no columns", table)
	}
	return columns, err
}

func (s postgresSource) rows(ctx context.Context, table string, columns []column, fn func(row []Text) error) error {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = c.text
	}
	rows, err := s.conn.Query(ctx, "SELECT "+strings.Join(texts, ", ")+" FROM "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]Text, len(columns))
	into := make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return rows.Err()
}
