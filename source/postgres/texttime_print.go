package postgres

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// printTemporal prints a date or timestamp in the form that the server reads.
func printTemporal(col arrow.Array, c schema.Column, i int) (string, error) {
	switch a := col.(type) {
	case *array.Date32:
		v := a.Value(i)
		if v == math.MaxInt32 || v == math.MinInt32 {
			return infinity(v > 0), nil
		}
		return printTime(time.Unix(int64(v)*86_400, 0), "01-02"), nil
	case *array.Timestamp:
		v := a.Value(i)
		if v == math.MaxInt64 || v == math.MinInt64 {
			return infinity(v > 0), nil
		}
		layout := "01-02 15:04:05.000000"
		if c.Type.Kind == schema.KindTimestampLTZ {
			layout += "+00"
		}
		return printTime(time.UnixMicro(int64(v)), layout), nil
	}
	return "", fmt.Errorf("%w: column %s as part of a key", ErrValue, c.Name)
}

func infinity(positive bool) string {
	if positive {
		return "infinity"
	}
	return "-infinity"
}

// printTime prints the year, the rest by layout, and BC where it applies.
func printTime(t time.Time, layout string) string {
	t = t.UTC()
	year, bc := t.Year(), ""
	if year <= 0 {
		year, bc = 1-year, " BC"
	}
	return fmt.Sprintf("%04d-%s%s", year, t.Format(layout), bc)
}
