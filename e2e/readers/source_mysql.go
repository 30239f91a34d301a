package readers

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

// MySQL is the MySQL or MariaDB server that conn is connected to; tables are named
// with their database. The connection stays the caller's; its time zone becomes UTC.
func MySQL(conn *client.Conn) Source { return mysqlSource{conn} }

type mysqlSource struct{ conn *client.Conn }

// mysqlColumn says how a column is compared; data is its type's name, full the type
// as it was declared, for instance "tinyint(1) unsigned".
func mysqlColumn(name, data, full string, key int) column {
	id := quoteMySQL(name)
	c := column{name: name, key: key, text: "CAST(" + id + " AS CHAR)"}
	switch data {
	case "tinyint":
		if full == "tinyint(1)" {
			c.text, c.wire = "ELT(1 + ("+id+" <> 0), 'false', 'true')", asBoolean
		}
	case "bigint":
		if strings.Contains(full, "unsigned") {
			c.wire = asUnsigned
		}
	case "bit":
		bits, _ := strconv.Atoi(strings.Trim(strings.TrimPrefix(full, "bit"), "()"))
		if bits == 1 {
			c.text = "ELT(1 + (" + id + " <> 0), 'false', 'true')"
			break
		}
		var bytes []string // the lowest first, as Debezium has them
		for shift := 0; shift < bits; shift += 8 {
			bytes = append(bytes, fmt.Sprintf("LPAD(LOWER(HEX(%s >> %d & 255)), 2, '0')", id, shift))
		}
		c.text, c.wire = "CONCAT("+strings.Join(bytes, ", ")+")", asBits
	case "year":
		c.text = "CAST(" + id + " + 0 AS CHAR)"
	case "float":
		// The server prints six digits of a FLOAT; as a DOUBLE it is all there.
		c.text, c.form = "CAST("+id+" + 0e0 AS CHAR)", float32s
	case "double":
		c.form = float64s
	case "json":
		c.form = jsonSpace
	case "datetime", "timestamp":
		c.text, c.wire = "DATE_FORMAT("+id+", '%Y-%m-%dT%H:%i:%s.%f')", asMicros
		if data == "timestamp" {
			c.wire = asInstant
		}
	case "date":
		c.text, c.wire = "DATE_FORMAT("+id+", '%Y-%m-%d')", asDays
	case "time":
		c.text, c.wire = "TIME_FORMAT("+id+", '%H:%i:%s.%f')", asMicrosOfDay
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		c.text = "LOWER(HEX(" + id + "))"
	}
	return c
}

func (s mysqlSource) columns(ctx context.Context, table string) ([]column, error) {
	database, name, found := strings.Cut(table, ".")
	if !found {
		return nil, fmt.Errorf("readers: %s is named without its database", table)
	}
	result, err := s.conn.Execute(fmt.Sprintf(`
SELECT c.column_name, c.data_type, c.column_type, COALESCE(k.ordinal_position, 0)
FROM information_schema.columns c
LEFT JOIN information_schema.key_column_usage k ON k.table_schema = c.table_schema AND k.table_name = c.table_name
	AND k.column_name = c.column_name AND k.constraint_name = 'PRIMARY'
WHERE c.table_schema = '%s' AND c.table_name = '%s'
ORDER BY c.ordinal_position`, mysql.Escape(database), mysql.Escape(name)))
	if err != nil {
		return nil, err
	}
	defer result.Close()
	columns := make([]column, 0, result.RowNumber())
	for i := range result.RowNumber() {
		var texts [3]string
		for j := range texts {
			if texts[j], err = result.GetString(i, j); err != nil {
				return nil, err
			}
		}
		key, err := result.GetInt(i, 3)
		if err != nil {
			return nil, err
		}
		columns = append(columns, mysqlColumn(texts[0], texts[1], texts[2], int(key)))
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("readers: there is no table %s", table)
	}
	return columns, ctx.Err()
}

func (s mysqlSource) rows(ctx context.Context, table string, columns []column, fn func(row []Text) error) error {
	if _, err := s.conn.Execute("SET time_zone = '+00:00'"); err != nil {
		return err
	}
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = c.text
	}
	database, name, _ := strings.Cut(table, ".")
	query := "SELECT " + strings.Join(texts, ", ") + " FROM " + quoteMySQL(database) + "." + quoteMySQL(name)
	row := make([]Text, len(columns))
	var result mysql.Result
	return s.conn.ExecuteSelectStreaming(query, &result, func(values []mysql.FieldValue) error {
		for i := range values {
			row[i] = nil
			if values[i].Type != mysql.FieldValueTypeNull {
				v := string(values[i].AsString())
				row[i] = &v
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return fn(row)
	}, nil)
}

func quoteMySQL(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
