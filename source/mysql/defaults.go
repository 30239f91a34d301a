package mysql

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/source"
)

// fillDefaults checks keys and types and adds what is not set.
func fillDefaults(opts map[string]string) (map[string]string, error) {
	out := map[string]string{}
	specs := Specs()
	for _, key := range slices.Sorted(maps.Keys(opts)) {
		i := slices.IndexFunc(specs, func(s source.OptionSpec) bool { return s.Key == key || inFamily(s.Key, key) })
		if i < 0 {
			return nil, &source.OptionError{Key: key, Msg: "unknown option"}
		}
		if err := checkValue(specs[i], key, opts[key]); err != nil {
			return nil, err
		}
		out[key] = opts[key]
	}
	for _, s := range specs {
		_, set := opts[s.Key]
		switch {
		case set:
		case s.Required:
			return nil, &source.OptionError{Key: s.Key, Msg: "is required", Hint: s.Doc}
		case s.Default != "":
			out[s.Key] = s.Default
		}
	}
	return out, nil
}

// inFamily says whether key belongs to a family such as debezium.*
func inFamily(family, key string) bool {
	prefix, ok := strings.CutSuffix(family, "*")
	return ok && strings.HasPrefix(key, prefix)
}

// mayBeZero are the numbers for which 0 has a meaning.
var mayBeZero = map[string]bool{"connect.max-retries": true}

func checkValue(s source.OptionSpec, key, v string) error {
	bad := func(hint string) error {
		return &source.OptionError{Key: key, Msg: fmt.Sprintf("%q is no valid %s", v, s.Type), Hint: hint}
	}
	switch s.Type {
	case "int":
		least := 1
		if mayBeZero[key] {
			least = 0
		}
		if n, err := strconv.Atoi(v); err != nil || n < least {
			return bad(fmt.Sprintf("use a whole number from %d on", least))
		}
	case "bool":
		if v != "true" && v != "false" {
			return bad("use true or false")
		}
	case "duration":
		if d, err := time.ParseDuration(v); err != nil || d <= 0 {
			return bad("use a number with a unit, for instance 30s")
		}
	case "enum":
		if !slices.Contains(s.Values, v) {
			return &source.OptionError{Key: key, Msg: fmt.Sprintf("%q is not one of %v", v, s.Values)}
		}
	}
	return nil
}
