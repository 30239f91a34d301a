package debezium

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestConverters: whatever text comes, a converter says that it is none of its type, or
// writes JSON; and nothing of it is left behind.
func TestConverters(t *testing.T) {
	converters := map[string]struct {
		convert func([]byte, string) ([]byte, error)
		near    string // texts that are nearly right
		right   string
	}{
		"zonedTime":      {zonedTime, `-?[0-9]{1,3}:[0-9]{1,2}:[0-9]{2}(\.[0-9]{0,11})?([+-][0-9]{1,2}(:[0-9]{2}){0,3}|Z)?`, "12:34:56+02"},
		"mysqlTime":      {mysqlTime(1000), `-?[0-9]{1,4}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,9})?`, "-12:34:56.5"},
		"mysqlISOTime":   {mysqlISOTime, `-?[0-9]{1,4}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,9})?`, "12:34:56.5"},
		"intervalMicros": {intervalMicros, `P(-?[0-9]{1,20}[YMWD]){0,3}(T(-?[0-9]{1,20}[HM]){0,2}(-?[0-9]{0,20}(\.[0-9]{0,8})?S)?)?`, "P1Y2M3DT4H5M6.5S"},
		"intervalText":   {intervalText, `P(-?[0-9]{1,20}[YMWD]){0,3}(T(-?[0-9]{1,20}[HM]){0,2}(-?[0-9]{0,20}(\.[0-9]{0,8})?S)?)?`, "P1Y2M3DT4H5M6.5S"},
		"appendBits":     {appendBits, `[01]{0,200}2?`, "0101"},
		"appendPoint":    {appendPoint, `\(?(-?[0-9]{1,3}(\.[0-9]+)?|NaN|Infinity),(1e-?[0-9]{1,3}|x)\)`, "(1,2)"},
		"appendPostGIS":  {appendPostGIS, `([0-9A-F]{2}){0,30}`, "0101000000000000000000F03F0000000000000040"},
		"vectorText":     {vectorText(64), `\[((-?[0-9]{1,3}(\.[0-9]+)?|NaN),){0,4}[0-9]?\]`, "[1,2]"},
		"appendSparse":   {appendSparse, `\{([0-9]{1,3}:[0-9.]{1,3},?){0,4}\}/[0-9]{1,11}`, "{1:2}/3"},
	}
	for name, c := range converters {
		t.Run(name, func(t *testing.T) {
			if out, err := c.convert(nil, c.right); err != nil || !json.Valid(out) {
				t.Errorf("%q gave %s, %v", c.right, out, err)
			}
			rapid.Check(t, func(t *rapid.T) {
				s := rapid.OneOf(rapid.StringMatching(c.near), rapid.StringMatching(c.near), rapid.String()).Draw(t, "s")
				out, err := c.convert([]byte("["), s)
				if err != nil {
					return
				}
				if !json.Valid(append(out, ']')) {
					t.Fatalf("%q gave %s", s, out)
				}
			})
		})
	}
}
