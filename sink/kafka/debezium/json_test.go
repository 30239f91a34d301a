package debezium

import "testing"

// TestAppendCompact leaves blanks inside texts alone.
func TestAppendCompact(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": 1, "b c": [1, "x, \" : y", null]}`: `{"a":1,"b c":[1,"x, \" : y",null]}`,
		`"\\ "`: `"\\ "`, `[ ]`: `[]`, "": "", `1.5e3`: `1.5e3`,
	} {
		if got := string(appendCompact(nil, in)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
