package value

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

// capturedCell is a cell of testdata/cells.
type capturedCell struct {
	def  string
	ct   CellType
	cell []byte
}

var cellsCommand = regexp.MustCompile(`^cells wire=(\d+) meta=(\d+)`)

// capturedCells reads the cells of real servers, the seeds of the fuzz tests.
func capturedCells(t testing.TB) (list []capturedCell) {
	t.Helper()
	text, err := os.ReadFile("testdata/cells")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "\n\n") {
		input, _, _ := strings.Cut(block, "\n----")
		lines := strings.Split(input, "\n")
		m := cellsCommand.FindStringSubmatch(lines[0])
		if m == nil {
			continue
		}
		typ, _ := strconv.Atoi(m[1])
		meta, _ := strconv.Atoi(m[2])
		for _, l := range lines[2:] {
			b, err := hex.DecodeString(l)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, capturedCell{lines[1], CellType{Type: byte(typ), Meta: uint16(meta)}, b})
		}
	}
	if len(list) < 200 {
		t.Fatalf("only %d cells", len(list))
	}
	return list
}

// kinds returns each type and cell type once.
func kinds(list []capturedCell) (out []capturedCell) {
	for _, c := range list {
		if !slices.ContainsFunc(out, func(o capturedCell) bool { return o.def == c.def && o.ct == c.ct }) {
			out = append(out, c)
		}
	}
	return out
}

func FuzzCell(f *testing.F) {
	cells := capturedCells(f)
	all := kinds(cells)
	for i, k := range all {
		for _, c := range cells {
			if c.def == k.def && c.ct == k.ct {
				f.Add(uint16(i), byte(0), c.cell)
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind uint16, options byte, cell []byte) {
		k := all[int(kind)%len(all)]
		o := Options{MariaDB: options&1 != 0, TinyInt1IsBool: options&2 != 0, LegacyJSON: options&4 != 0, ZeroDates: ZeroDates(options >> 3 % 3), Time: TimeMode(options >> 5 % 3)}
		c := definition(t, k.def, o)
		var took int
		got := appended(t, c, func(b array.Builder) error {
			read, err := NewCellReader(c, k.ct, b, o)
			if err == nil {
				took, err = read(cell)
			}
			return err
		})
		if strings.HasPrefix(got, "!column") {
			return
		}
		shape, err := ColumnShape(c, k.ct)
		if err != nil {
			t.Fatal(err)
		}
		if _, size, err := shape.cut(cell); err != nil || size != took {
			t.Fatalf("%d bytes read, %d skipped of %d, %v", took, size, len(cell), err)
		}
	})
}

func FuzzSkip(f *testing.F) {
	for _, c := range capturedCells(f) {
		f.Add(c.ct.Type, c.ct.Meta, c.cell)
	}
	f.Fuzz(func(t *testing.T, typ byte, meta uint16, p []byte) {
		if n, err := Skip(CellType{Type: typ, Meta: meta}, p); err == nil && n > len(p) {
			t.Fatalf("%d bytes of %d", n, len(p))
		} else if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) {
			t.Fatal(err)
		}
	})
}

func FuzzText(f *testing.F) {
	all := kinds(capturedCells(f))
	for i := range all {
		for _, v := range []string{"", "-12.50", "2024-02-29 12:34:56.789", "-838:59:59.1", "1e-300", "\x00\x01", "a,b", `{"a": 1}`} {
			f.Add(uint16(i), []byte(v))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint16, v []byte) {
		o := Options{LegacyJSON: kind&1 != 0, ZeroDates: ZeroDateError, Time: TimeMode(kind % 3)}
		c := definition(t, all[int(kind)%len(all)].def, o)
		got := textValue(t, c, o, v)
		if c.Type.Kind == schema.KindDecimal && !strings.HasPrefix(got, "!column") && len(v) < 60 {
			number := strings.TrimLeft(strings.TrimPrefix(string(v), "-"), "0")
			if want := strings.TrimLeft(strings.TrimPrefix(got, "-"), "0"); number != want {
				t.Fatalf("%s: %q read as %s", c.Type, v, got)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, c := range capturedCells(f) {
		if c.ct.Type == cellJSON {
			f.Add(c.cell[4:])
		}
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		text, err := newJSONPrinter(false).form(doc)
		short, errShort := newJSONPrinter(true).form(doc)
		if err != nil || errShort != nil {
			if err == nil || errShort == nil || !errors.Is(err, ErrMalformed) {
				t.Fatalf("%v, %v", err, errShort)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
		if compact, err := compactForm()(text); err != nil || string(compact) != string(short) {
			t.Fatalf("%q and %q, %v", compact, short, err)
		}
	})
}

func FuzzPartialJSON(f *testing.F) {
	doc := unhexed("0002002b00120003001500010018000c1a00001c0061 62 63 00")
	for _, c := range capturedCells(f) {
		if c.ct.Type == cellJSON {
			f.Add(c.cell[4:], []byte("\x00\x03$.a\x03\x05\x01\x00"))
			f.Add(c.cell[4:], []byte("\x01\x04$[0]\x03\x04\x01\x00\x02\x05$.a.b"))
		}
	}
	f.Add(doc, []byte("\x02\x09$[last-1]"))
	f.Fuzz(func(t *testing.T, doc, diff []byte) {
		p := newJSONPrinter(false)
		if err := p.patched(doc, diff); err == nil && !json.Valid(p.out) {
			t.Fatalf("%q is no JSON", p.out)
		}
	})
}

func unhexed(s string) []byte {
	b, _ := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	return b
}

func FuzzGeometry(f *testing.F) {
	for _, c := range capturedCells(f) {
		if c.ct.Type == cellGeometry {
			f.Add(c.cell[4:])
		}
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		if text, err := geometryForm()(v); err == nil && !json.Valid(text) {
			t.Fatalf("%q is no JSON", text)
		}
	})
}

func FuzzCompressed(f *testing.F) {
	for _, c := range capturedCells(f) {
		if c.ct.Type == cellBlobCompressed {
			f.Add(c.cell[c.ct.Meta:])
		}
	}
	f.Add([]byte("\x00plain"))
	f.Add(unhexed("89 05 4b4c4a4e490500"))
	f.Fuzz(func(t *testing.T, v []byte) {
		z := inflated(nil)
		once, err1 := z(v)
		first := string(once)
		again, err2 := z(v)
		if first != string(again) || (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q, %v and then %q, %v", first, err1, again, err2)
		}
	})
}

func FuzzCharset(f *testing.F) {
	names := []string{"utf8mb4", "ascii", "ucs2", "utf16", "utf16le", "utf32", "swe7"}
	for name := range singleByte {
		names = append(names, name)
	}
	for name := range doubleByte {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range names {
		f.Add(byte(i), []byte("abc\x81\x40\xb0\xa1\x8f\xb0\xa1\x81\x30\x81\x30"))
	}
	f.Fuzz(func(t *testing.T, charset byte, v []byte) {
		text, err := DecodeText(nil, names[int(charset)%len(names)], v)
		if err == nil && !utf8.Valid(text) {
			t.Fatalf("%q", text)
		}
		if err != nil && len(text) > 0 {
			t.Fatalf("%q with %v", text, err)
		}
	})
}

func FuzzColumnType(f *testing.F) {
	for _, c := range kinds(capturedCells(f)) {
		f.Add(c.def)
	}
	f.Add(`enum('a\\b','it''s','\n')`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Column(Definition{Name: "c", ColumnType: text, Charset: "latin1"}, Options{})
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		if labels := c.Source.Enum; labels != nil {
			again, err := Column(Definition{Name: "c", ColumnType: ListType("set", labels), Charset: "latin1"}, Options{})
			if err != nil || !slices.Equal(again.Source.Enum, labels) {
				t.Fatalf("%q became %q, %v", labels, again.Source.Enum, err)
			}
		}
	})
}
