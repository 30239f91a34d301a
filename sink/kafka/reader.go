package kafka

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"

	"github.com/freshet-cdc/freshet/sink"
)

// optionReader reads options by their specs; the first error stays.
type optionReader struct {
	opts map[string]string
	err  error
}

func (r *optionReader) fail(key, msg, hint string) {
	if r.err == nil {
		r.err = &sink.OptionError{Key: key, Msg: msg, Hint: hint}
	}
}

// known reports keys that no spec has.
func (r *optionReader) known(key string) {
	var keys []string
	for _, s := range Specs() {
		family, ok := strings.CutSuffix(s.Key, "*")
		if s.Key == key || ok && strings.HasPrefix(key, family) {
			return
		}
		keys = append(keys, s.Key)
	}
	r.fail(key, "the sink kafka has no such option", "the nearest is "+nearest(key, keys))
}

// nearest returns the name that is the fewest edits away. One that begins with name, or
// ends so, is nearer than it looks.
func nearest(name string, names []string) string {
	distance := func(other string) int {
		if strings.HasPrefix(other, name+".") || strings.HasSuffix(other, "."+name) {
			return 2
		}
		return levenshtein.ComputeDistance(name, other)
	}
	return slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
}

func specOf(key string) sink.OptionSpec {
	specs := Specs()
	return specs[slices.IndexFunc(specs, func(s sink.OptionSpec) bool { return s.Key == key })]
}

// text returns an option, or its default.
func (r *optionReader) text(key string) string {
	if v, ok := r.opts[key]; ok {
		return v
	}
	s := specOf(key)
	if s.Required {
		r.fail(key, "it is missing", s.Doc)
	}
	return s.Default
}

func (r *optionReader) enum(key string) string {
	v := r.text(key)
	if values := specOf(key).Values; v != "" && !slices.Contains(values, v) {
		r.fail(key, fmt.Sprintf("%q is unknown", v), "there is "+strings.Join(values, ", "))
	}
	return v
}

func (r *optionReader) flag(key string) bool {
	b, err := strconv.ParseBool(r.text(key))
	if err != nil {
		r.fail(key, fmt.Sprintf("%q is neither true nor false", r.text(key)), "")
	}
	return b
}

func (r *optionReader) number(key, text string, low, high int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < low || n > high {
		r.fail(key, fmt.Sprintf("%q is not a number from %d to %d", text, low, high), "")
		return low
	}
	return n
}

// millis reads a number of milliseconds, as Kafka's properties have them.
func (r *optionReader) millis(key, text string, low int64) time.Duration {
	return time.Duration(r.number(key, text, low, math.MaxInt32)) * time.Millisecond
}

// list splits a text at commas; blanks around the parts don't count.
func list(text string) (out []string) {
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
