package snapshot

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// RowCondition writes the SQL condition that finds one row of a record by its key, for
// Job.Only. Equality is the server's, so that the row is found as its collation spells it.
//
// Not found are rows whose key differs here from there: dates that do not exist
// (zero-dates), and the few characters that Japanese and Chinese character sets have twice.
func RowCondition(t *schema.Table, rec arrow.RecordBatch, row int) (string, error) {
	var and []string
	for _, i := range t.KeyIndexes() {
		c := t.Columns[i]
		term, err := equals(c, rec.Column(i), row)
		if err != nil {
			return "", fmt.Errorf("table %s, key column %s: %w", t.ID, c.Name, err)
		}
		and = append(and, term)
	}
	if len(and) == 0 {
		return "", fmt.Errorf("table %s: %w", t.ID, ErrNoKey)
	}
	return strings.Join(and, " AND "), nil
}

// equals writes the condition for one value.
func equals(c schema.Column, a arrow.Array, row int) (string, error) {
	name := wire.Ident(c.Name)
	if a.IsNull(row) {
		return "", schema.ErrNullKey
	}
	base, _, _ := strings.Cut(c.Source.Name, " ")
	switch a := a.(type) {
	case *array.Boolean:
		if base == "tinyint" && a.Value(row) { // any number but 0
			return name + " <> 0", nil
		}
		return name + " = " + strconv.Itoa(map[bool]int{true: 1}[a.Value(row)]), nil
	case *array.Float32:
		return name + " = " + floatLiteral(float64(a.Value(row))), nil
	case *array.Float64:
		return name + " = " + floatLiteral(a.Value(row)), nil
	case *array.String:
		return name + " = _utf8mb4 x'" + hex.EncodeToString([]byte(a.Value(row))) + "'", nil
	case *array.Binary:
		if base == "bit" {
			return name + " = " + bitLiteral(a.Value(row)), nil
		}
		return name + " = _binary x'" + hex.EncodeToString(a.Value(row)) + "'", nil
	case *array.FixedSizeBinary: // UUID
		h := hex.EncodeToString(a.Value(row))
		if len(h) != 32 {
			break
		}
		return name + " = '" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:] + "'", nil
	case *array.Date32:
		return name + " = '" + time.Unix(int64(a.Value(row))*86400, 0).UTC().Format(time.DateOnly) + "'", nil
	case *array.Time64:
		return name + " = '" + time.UnixMicro(int64(a.Value(row))).UTC().Format("15:04:05.000000") + "'", nil
	case *array.Timestamp:
		return name + " = '" + time.UnixMicro(int64(a.Value(row))).UTC().Format("2006-01-02 15:04:05.000000") + "'", nil
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint64, *array.Decimal128, *array.Decimal256:
		return name + " = " + a.ValueStr(row), nil
	}
	return "", fmt.Errorf("%w: a key of type %s", ErrNoKey, c.Source.Name)
}

func floatLiteral(f float64) string { return strconv.FormatFloat(f, 'e', -1, 64) }

// bitLiteral writes little-endian bytes as a number.
func bitLiteral(v []byte) string {
	var n uint64
	for i, b := range v {
		n |= uint64(b) << (8 * i)
	}
	return strconv.FormatUint(n, 10)
}
