package value

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/schema"
)

func TestCivilDays(t *testing.T) {
	for day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 10000; day = day.AddDate(0, 0, 1) {
		days, ok := civilDays(day.Year(), int(day.Month()), day.Day())
		if want := day.Unix() / 86400; !ok || int64(days) != want {
			t.Fatalf("%v: %d, %v, wanted %d", day, days, ok, want)
		}
	}
	for _, d := range [][3]int{{2024, 0, 1}, {2024, 13, 1}, {2024, 1, 0}, {2024, 1, 32}, {2023, 2, 29}, {1900, 2, 29}, {2024, 4, 31}, {0, 0, 0}, {2024, 12, 63}} {
		if _, ok := civilDays(d[0], d[1], d[2]); ok {
			t.Errorf("%v is a day", d)
		}
	}
}

// TestMismatch: a column that the log has in another type than its definition.
func TestMismatch(t *testing.T) {
	for _, c := range []struct {
		def string
		ct  CellType
	}{
		{"int", CellType{Type: cellLongLong}}, {"bigint", CellType{Type: cellLong}}, {"int", CellType{Type: cellVarchar, Meta: 40}},
		{"varchar(10) | utf8mb4", CellType{Type: cellBlob, Meta: 2}}, {"text | utf8mb4", CellType{Type: cellVarchar, Meta: 40}},
		{"decimal(12,2)", CellType{Type: cellNewDecimal, Meta: 12<<8 | 3}}, {"decimal(12,2)", CellType{Type: cellNewDecimal, Meta: 11<<8 | 2}},
		{"datetime(3)", CellType{Type: cellDatetime2}}, {"time", CellType{Type: cellTime2, Meta: 6}}, {"timestamp", CellType{Type: cellDatetime2}},
		{"bit(12)", CellType{Type: cellBit, Meta: 1<<8 | 5}}, {"bit(1)", CellType{Type: cellTiny}}, {"json", CellType{Type: cellBlob, Meta: 4}},
		{"enum('a','b')", CellType{Type: cellString, Meta: cellEnum<<8 | 2}}, {"enum('a','b')", CellType{Type: cellString, Meta: cellSet<<8 | 1}},
		{"char(5) | utf8mb4", CellType{Type: cellString, Meta: cellEnum<<8 | 1}}, {"point", CellType{Type: cellBlob, Meta: 4}}, {"blob", CellType{Type: cellGeometry, Meta: 4}},
		{"float", CellType{Type: cellDouble, Meta: 8}}, {"uuid", CellType{Type: cellVarchar, Meta: 36}},
	} {
		col := definition(t, c.def, Options{})
		got := appended(t, col, func(b array.Builder) error {
			_, err := NewCellReader(col, c.ct, b, Options{})
			if !errors.Is(err, ErrMismatch) {
				t.Errorf("%s as %s: %v", c.def, c.ct, err)
			}
			if err == nil {
				b.AppendNull()
			}
			return err
		})
		if !strings.Contains(got, c.ct.String()) {
			t.Errorf("%s as %s: %s", c.def, c.ct, got)
		}
	}
}

// TestUnsupportedCells: types that are never read.
func TestUnsupportedCells(t *testing.T) {
	for _, ct := range []CellType{{Type: 0}, {Type: 20}, {Type: 128}, {Type: 243}, {Type: cellBlob}, {Type: cellBlob, Meta: 5}, {Type: cellTime2, Meta: 7},
		{Type: cellBit, Meta: 9 << 8}, {Type: cellNewDecimal}, {Type: cellNewDecimal, Meta: 5<<8 | 6}, {Type: cellString, Meta: cellEnum<<8 | 3}} {
		if _, err := Skip(ct, make([]byte, 100)); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", ct, err)
		}
	}
}

// TestEnumChanged: a number without a label is the sign of another definition.
func TestEnumChanged(t *testing.T) {
	enum, set := definition(t, "enum('a','b')", Options{}), definition(t, "set('a','b')", Options{})
	for _, c := range []struct {
		c    schema.Column
		meta uint16
		cell byte
		want string
	}{
		{enum, cellEnum<<8 | 1, 0, ""}, {enum, cellEnum<<8 | 1, 2, "b"}, {enum, cellEnum<<8 | 1, 3, "!"},
		{set, cellSet<<8 | 1, 0, ""}, {set, cellSet<<8 | 1, 3, "a,b"}, {set, cellSet<<8 | 1, 4, "!"},
	} {
		got := cellValue(t, c.c, CellType{Type: cellString, Meta: c.meta}, Options{}, []byte{c.cell})
		if c.want == "!" && !strings.Contains(got, ErrMismatch.Error()) || c.want != "!" && got != c.want {
			t.Errorf("%s %d: %q", c.c.Source.Name, c.cell, got)
		}
	}
}

// TestStringLengths: the lengths that STRING hides in its metadata.
func TestStringLengths(t *testing.T) {
	for length := 1; length <= 1023; length++ {
		// What the server writes: the upper bits, turned, in the type.
		meta := uint16(byte(cellString)^byte(length&0x300>>4))<<8 | uint16(length&0xFF)
		if typ, n := (CellType{Type: cellString, Meta: meta}).real(); typ != cellString || n != length {
			t.Fatalf("%d: type %d, length %d", length, typ, n)
		}
	}
}

func TestDamagedCells(t *testing.T) {
	for _, c := range []struct {
		def  string
		ct   CellType
		cell string
	}{
		{"decimal(4,2)", CellType{Type: cellNewDecimal, Meta: 4<<8 | 2}, "e40a"}, {"decimal(4,2)", CellType{Type: cellNewDecimal, Meta: 4<<8 | 2}, "8064"},
		{"decimal(65,0)", CellType{Type: cellNewDecimal, Meta: 65 << 8}, strings.Repeat("ff", 29)},
		{"datetime", CellType{Type: cellDatetime2}, "99b2fb9000"}, {"datetime", CellType{Type: cellDatetime2}, "00b2fb7000"},
		{"datetime", CellType{Type: cellDatetime2}, "99b2fb7f00"}, {"datetime(6)", CellType{Type: cellDatetime2, Meta: 6}, "99b2fb70000f4240"},
		{"timestamp(6)", CellType{Type: cellTimestamp2, Meta: 6}, "000000010f4240"}, {"time", CellType{Type: cellTime2}, "ffffff"},
		{"time(6)", CellType{Type: cellTime2, Meta: 6}, "8000000f4240"}, {"time", CellType{Type: cellTime}, "ffff7f"},
		{"datetime", CellType{Type: cellDatetime}, "ffffffffffffffff"}, {"binary(2)", CellType{Type: cellString, Meta: cellString<<8 | 2}, "03000000"},
		{"uuid", CellType{Type: cellString, Meta: cellString<<8 | 16}, "11" + strings.Repeat("00", 17)}, {"vector(1)", CellType{Type: cellVector, Meta: 4}, "03000000000000"},
		{"point", CellType{Type: cellGeometry, Meta: 4}, "19000000000000000101000000000000000000f87f000000000000f03f"},
		{"json", CellType{Type: cellJSON, Meta: 4}, "010000000d"}, {"json", CellType{Type: cellJSON, Meta: 4}, "020000000403"},
		{"varchar(9) | utf8mb4", CellType{Type: cellVarchar, Meta: 36}, "02c328"}, {"blob", CellType{Type: cellBlobCompressed, Meta: 2}, "030090ffff"},
		{"blob", CellType{Type: cellBlobCompressed, Meta: 2}, "080084ffffffff000000"},
	} {
		cell := unhex(t, c.cell)
		if n, err := Skip(c.ct, cell); err != nil || n != len(cell) {
			t.Errorf("%s %s: %d of %d bytes, %v", c.def, c.cell, n, len(cell), err)
		}
		got := cellValue(t, definition(t, c.def, Options{Time: TimeText}), c.ct, Options{Time: TimeText}, cell)
		if !strings.Contains(got, ErrMalformed.Error()) && !strings.Contains(got, ErrRange.Error()) {
			t.Errorf("%s %s: %s", c.def, c.cell, got)
		}
	}
}

func TestDamagedText(t *testing.T) {
	for def, list := range map[string][]string{
		"tinyint":          {"", "-", "128", "-129", "1.0", "a", "+1", " 1"},
		"bigint":           {"9223372036854775808", "-9223372036854775809", "99999999999999999999"},
		"bigint unsigned":  {"18446744073709551616", "-1", "+1111111111111111111111", ""},
		"float":            {"0.1", "1e39", "nan", "x"},
		"double":           {"", "inf", "1e309", "1,5"},
		"decimal(4,2)":     {"", "1", "1.1", "123.45", "1.x1", "-", ".10", "+1.10", "1.234"},
		"decimal(38,2)":    {"1.1", strings.Repeat("9", 37) + ".00", "a" + strings.Repeat("9", 30) + ".00"},
		"decimal(65,30)":   {"1", strings.Repeat("9", 36) + "." + strings.Repeat("9", 30)},
		"bit(1)":           {"", "1", "\x02", "\x00\x00"},
		"bit(9)":           {"123456789"},
		"date":             {"", "2024-2-29", "2024-02-29 ", "20x4-02-29", "2024-02-2a", "2024-13-01", "2024-01-32"},
		"datetime(3)":      {"2024-02-29", "2024-02-29T00:00:00", "2024-02-29 24:00:00", "2024-02-29 00:60:00", "2024-02-29 00:00:60", "2024-02-29 00:00:00.", "2024-02-29 00:00:00.1234567"},
		"time":             {"", "1:00:00", "839:00:00", "12:60:00", "12:00", "12:00:00.x", "--1:00:00", "1234:00:00"},
		"binary(2)":        {"abc"},
		"uuid":             {"", "123e4567-e89b-12d3-a456-42665544000", "123e4567xe89b-12d3-a456-426655440000", "123e4567-e89b-12d3-a456-42665544000g"},
		"vector(1)":        {"abc"},
		"point":            {"", "abcd"},
		"varchar(9) | gbk": {"\xff\xff"},
	} {
		o := Options{Time: TimeText}
		c := definition(t, def, o)
		for _, v := range list {
			if got := textValue(t, c, o, []byte(v)); !strings.Contains(got, ErrMalformed.Error()) {
				t.Errorf("%s %q: %s", def, v, got)
			}
		}
	}
}

// TestBuilders: a builder of another type than the column's is an error, not a panic.
func TestBuilders(t *testing.T) {
	for _, k := range kinds(capturedCells(t)) {
		c := definition(t, k.def, Options{})
		for _, other := range []schema.Type{schema.Boolean(), schema.TinyInt(), schema.UUID(), schema.Date(), schema.Timestamp(3), schema.Time(0), schema.String(), schema.Bytes(), schema.Row()} {
			if other.Arrow().ID() == c.Type.Arrow().ID() {
				continue
			}
			wrong := c
			wrong.Type = other
			appended(t, wrong, func(b array.Builder) error {
				_, err := NewCellReader(c, k.ct, b, Options{})
				if _, textErr := NewTextReader(c, b, Options{}); err == nil || textErr == nil {
					t.Errorf("%s into %s: %v, %v", k.def, other, err, textErr)
				}
				if err == nil {
					b.AppendNull()
				}
				return err
			})
		}
	}
}

func ExampleSelectExpression() {
	c, _ := Column(Definition{Name: "name", ColumnType: "varchar(20)", Charset: "gbk"}, Options{})
	fmt.Println(SelectExpression(c))
	// Output: CAST(`name` AS BINARY)
}
