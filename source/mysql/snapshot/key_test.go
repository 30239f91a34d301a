package snapshot

import (
	"errors"
	"regexp"
	"testing"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

var literalForm = map[Form]*regexp.Regexp{
	Number: regexp.MustCompile(`^[0-9.-]+$`), Enum: regexp.MustCompile(`^[0-9.-]+$`), Bits: regexp.MustCompile(`^[0-9.-]+$`), Float: regexp.MustCompile(`^[0-9.+-]*e[0-9.e+-]*$`),
	Text: regexp.MustCompile(`^_latin1 x'[0-9A-Fa-f]*'$`), Bytes: regexp.MustCompile(`^_binary x'[0-9A-Fa-f]*'$`), Plain: regexp.MustCompile(`^'[0-9a-fA-F.: -]*'$`),
}

func TestLiteral(t *testing.T) {
	for _, tc := range []struct {
		form       Form
		text, want string
	}{
		{Number, "-12.50", "-12.50"}, {Float, "0.1", "0.1e0"}, {Float, "1.5e-7", "1.5e-7"}, {Text, "", "_latin1 x''"}, {Text, "E42027", "_latin1 x'E42027'"},
		{Bytes, "00FF", "_binary x'00FF'"}, {Enum, "3", "3"}, {Bits, "18446744073709551615", "18446744073709551615"}, {Plain, "2024-02-30 00:00:00.5", "'2024-02-30 00:00:00.5'"},
	} {
		got, err := KeyColumn{Name: "k", Form: tc.form, Charset: "latin1"}.literal(wire.Value(tc.text))
		if got != tc.want || err != nil {
			t.Errorf("%s %q: %s, %v", tc.form, tc.text, got, err)
		}
	}
	for form := range literalForm {
		if _, err := (KeyColumn{Name: "k", Form: form, Charset: "latin1"}).literal(nil); !errors.Is(err, errKeyValue) {
			t.Errorf("NULL as %s: %v", form, err)
		}
	}
	if _, err := (KeyColumn{Name: "k", Form: Text, Charset: "x' OR"}).literal(wire.Value("41")); err == nil {
		t.Error("a character set that is none")
	}
}

// FuzzLiteral: whatever a server prints, nothing but a literal goes into SQL.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"1", "-1.5", "1e300", "E42027", "2024-02-30", "' OR 1=1", "1 OR 1", "::1", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		for form, want := range literalForm {
			got, err := KeyColumn{Name: "k", Form: form, Charset: "latin1"}.literal(v)
			if err == nil && !want.MatchString(got) {
				t.Errorf("%s: %q becomes %s", form, v, got)
			}
		}
	})
}

// FuzzEven: a state that nobody wrote ends in some range, and does not panic.
func FuzzEven(f *testing.F) {
	f.Add("1", "1", "1000", "100", 10)
	f.Add("", "-5.5", "x", "0", 0)
	f.Fuzz(func(t *testing.T, next, first, last, step string, rows int) {
		e := &Even{Next: next, First: first, Last: last, Step: step}
		for range 50 {
			if _, more := e.next(rows, 100); !more {
				return
			}
		}
	})
}
