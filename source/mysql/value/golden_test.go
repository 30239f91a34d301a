package value

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
)

// TestGolden runs the scripts in testdata; -rewrite writes what comes out.
//
//	column                          a type a line, with its character set behind '|' -> the column
//	cells wire=N meta=N [options]   a type, then cells of the binlog in hex -> values
//	text [options]                  a type, then Go strings of the text protocol -> values
//	partial                         the document, then the diff, in hex -> the document after
//
// The options are mariadb, bool, legacy, zero=null|epoch|error, time=time|null|text. Cells
// and text were taken from MySQL 9.7 and MariaDB 11.8.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			o := goldenOptions(t, d)
			lines := strings.Split(strings.TrimSuffix(d.Input, "\n"), "\n")
			var out strings.Builder
			switch d.Cmd {
			case "column":
				for _, l := range lines {
					out.WriteString(goldenColumn(l, o) + "\n")
				}
			case "cells":
				var wire, meta int
				d.ScanArgs(t, "wire", &wire)
				d.ScanArgs(t, "meta", &meta)
				c := definition(t, lines[0], o)
				for _, l := range lines[1:] {
					ct := CellType{Type: byte(wire), Meta: uint16(meta)}
					fmt.Fprintf(&out, "%q\n", cellValue(t, c, ct, o, unhex(t, l)))
					truncated(t, c, ct, o, unhex(t, l))
				}
			case "text":
				c := definition(t, lines[0], o)
				for _, l := range lines[1:] {
					v, err := strconv.Unquote(l)
					if err != nil {
						t.Fatalf("%s: %v", l, err)
					}
					fmt.Fprintf(&out, "%q\n", textValue(t, c, o, []byte(v)))
				}
			case "partial":
				p := newJSONPrinter(o.LegacyJSON)
				err := p.patched(unhex(t, lines[0]), unhex(t, lines[1]))
				if err != nil {
					return err.Error() + "\n"
				}
				out.Write(append(p.out, '\n'))
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return out.String()
		})
	})
}

func goldenOptions(t *testing.T, d *datadriven.TestData) (o Options) {
	o.MariaDB, o.TinyInt1IsBool, o.LegacyJSON = d.HasArg("mariadb"), d.HasArg("bool"), d.HasArg("legacy")
	var zero, time string
	d.MaybeScanArgs(t, "zero", &zero)
	d.MaybeScanArgs(t, "time", &time)
	o.ZeroDates = map[string]ZeroDates{"epoch": ZeroDateEpoch, "error": ZeroDateError}[zero]
	o.Time = map[string]TimeMode{"null": TimeOrNull, "text": TimeText}[time]
	return o
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return b
}

// definition reads "type | character set".
func definition(t testing.TB, line string, o Options) schema.Column {
	t.Helper()
	typ, charset, _ := strings.Cut(line, " | ")
	c, err := Column(Definition{Name: "c", ColumnType: typ, Charset: charset, Nullable: true}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func goldenColumn(line string, o Options) string {
	typ, charset, _ := strings.Cut(line, " | ")
	c, err := Column(Definition{Name: "c", ColumnType: typ, Charset: charset, Nullable: true}, o)
	if err != nil {
		return err.Error()
	}
	s := c.Source
	out := fmt.Sprintf("%s, source %s %d %d", c.Type, s.Name, s.Length, s.Scale)
	if s.Charset != "" {
		out += " " + s.Charset
	}
	if s.Enum != nil {
		out += fmt.Sprintf(" %q", s.Enum)
	}
	if e := SelectExpression(c); e != "`c`" {
		out += ", " + e
	}
	return out
}

// textValue prints what a reader makes of a value of the text protocol.
func textValue(t testing.TB, c schema.Column, o Options, v []byte) string {
	t.Helper()
	return appended(t, c, func(b array.Builder) error {
		read, err := NewTextReader(c, b, o)
		if err != nil {
			return err
		}
		return read(v)
	})
}
