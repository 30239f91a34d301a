package readers

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
)

// Source is a database whose tables are compared with their copies: [Postgres] or [MySQL].
type Source interface {
	// columns returns the columns of a table, named with its schema or database.
	columns(ctx context.Context, table string) ([]column, error)
	// rows calls fn for each row of the table; the row is valid during the call.
	rows(ctx context.Context, table string, columns []column, fn func(row []Text) error) error
}

// ColumnNames returns the names of a source table's columns in their order.
func ColumnNames(ctx context.Context, source Source, table string) ([]string, error) {
	columns, err := source.columns(ctx, table)
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names, err
}

// column is a column of a source table.
type column struct {
	name string
	// text is the SQL that prints the column the way reader.py prints a value of the
	// mapped type in Iceberg.
	text string
	form form
	// wire is how it stands in messages.
	wire wire
	key  int // position in the primary key from 1, 0 outside
}

// form says what of a text does not matter when it is compared.
type form uint8

const (
	exact     form = iota
	float32s       // a number with many spellings
	float64s       //
	jsonSpace      // JSON whose blanks outside of strings say nothing
	jsonValue      // a list that is printed as JSON
)

// normal brings a value to the form in which both sides agree.
func (c column) normal(v Text) Text {
	if v == nil {
		return nil
	}
	switch c.form {
	case float32s:
		return normalFloat(v, 32)
	case float64s:
		return normalFloat(v, 64)
	case jsonSpace:
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(*v)) == nil {
			s := compact.String()
			return &s
		}
	case jsonValue:
		var list any
		if json.Unmarshal([]byte(*v), &list) == nil {
			if data, err := json.Marshal(list); err == nil {
				s := string(data)
				return &s
			}
		}
	}
	return v
}

func normalFloat(v Text, bits int) Text {
	f, err := strconv.ParseFloat(*v, bits)
	if err != nil {
		return v
	}
	s := strconv.FormatFloat(f, 'g', -1, bits)
	return &s
}
