package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// copyStream encodes rows as the server does; nil is NULL.
func copyStream(rows ...[][]byte) []byte {
	out := append([]byte(copySignature), make([]byte, 8)...)
	for _, row := range rows {
		out = binary.BigEndian.AppendUint16(out, uint16(len(row)))
		for _, v := range row {
			if v == nil {
				out = binary.BigEndian.AppendUint32(out, 0xffffffff)
				continue
			}
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(v))), v...)
		}
	}
	return binary.BigEndian.AppendUint16(out, 0xffff)
}

func column(name, source string, t schema.Type) schema.Column {
	return schema.Column{Name: name, Type: t, Nullable: true, Source: schema.SourceType{Name: source}}
}

// decodeCopy writes stream in pieces of the given size and returns the batches as JSON.
func decodeCopy(t testing.TB, table *schema.Table, opts copyOptions, stream []byte, piece int) (string, error) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	var out bytes.Buffer
	d := newCopyDecoder(mem, table, opts, func(r arrow.RecordBatch) error {
		defer r.Release()
		return array.RecordToJSON(r, &out)
	})
	defer d.Release()
	for len(stream) > 0 {
		n := min(piece, len(stream))
		if _, err := d.Write(stream[:n]); err != nil {
			return "", err
		}
		stream = stream[n:]
	}
	err := d.Close()
	return out.String(), err
}

func TestCopyDecodesAnyPieces(t *testing.T) {
	table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{
		column("id", "int8", schema.BigInt()), column("note", "text", schema.String()), column("doc", "jsonb", schema.JSON()),
		column("at", "timestamp", schema.Timestamp(6)), column("on", "date", schema.Date()),
	}}
	be := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	stream := copyStream(
		[][]byte{[]byte("x1"), be(1), []byte("größer"), []byte("\x01{\"a\":1}"), be(0), {0, 0, 0, 0}},
		[][]byte{nil, be(2), nil, nil, nil, nil},
		[][]byte{[]byte("x3"), be(3), {}, []byte("\x01[]"), be(1_000_000), {0xff, 0xff, 0xff, 0xff}},
	)
	want := ""
	for piece := 1; piece <= len(stream); piece++ {
		var extra []string
		got, err := decodeCopy(t, table, copyOptions{MaxRows: 2, Extra: 1, OnExtra: func(_ int, v []byte) error {
			extra = append(extra, string(v))
			return nil
		}}, stream, piece)
		if err != nil {
			t.Fatalf("pieces of %d: %v", piece, err)
		}
		if strings.Join(extra, ",") != "x1,,x3" {
			t.Fatalf("pieces of %d: extra fields %q", piece, extra)
		}
		if want == "" {
			want = got
			for _, part := range []string{`"note":"größer"`, `"doc":"{\"a\":1}"`, `"at":"2000-01-01T00:00:01`, `"on":"1999-12-31"`, `"id":2,"note":null`} {
				if !strings.Contains(got, part) {
					t.Fatalf("%s lacks %s", got, part)
				}
			}
		}
		if got != want {
			t.Fatalf("pieces of %d: %s, want %s", piece, got, want)
		}
	}
}

func TestCopyRefusesBadStreams(t *testing.T) {
	table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{column("id", "int4", schema.Int())}}
	good := copyStream([][]byte{{0, 0, 0, 1}})
	for name, stream := range map[string][]byte{
		"signature":  append([]byte("PGCOPX"), good[6:]...),
		"no trailer": good[:len(good)-2],
		"fields":     copyStream([][]byte{{0, 0, 0, 1}, {0}}),
		"width":      copyStream([][]byte{{0, 0, 1}}),
		"after it":   append(bytes.Clone(good), 0, 1),
		"half a row": good[:len(good)-4],
	} {
		if _, err := decodeCopy(t, table, copyOptions{MaxRows: 10}, stream, 1<<20); !errors.Is(err, errCopyFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCopyDecodesNumerics checks against pgx's own encoder of numeric.
func TestCopyDecodesNumerics(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		precision := rapid.IntRange(1, 38).Draw(rt, "precision")
		scale := rapid.IntRange(0, precision).Draw(rt, "scale")
		digits := rapid.StringMatching(fmt.Sprintf(`-?(0|[1-9]0{0,30}|[0-9]{1,%d})`, precision)).Draw(rt, "unscaled")
		unscaled, _ := new(big.Int).SetString(digits, 10)
		if len(new(big.Int).Abs(unscaled).String()) > precision {
			return
		}
		wire, err := pgtype.NewMap().Encode(pgtype.NumericOID, pgtype.BinaryFormatCode, pgtype.Numeric{Int: unscaled, Exp: int32(-scale), Valid: true}, nil)
		if err != nil {
			rt.Fatal(err)
		}
		got, _, err := decodeNumeric(wire, scale, int32(precision), false)
		if err != nil {
			rt.Fatalf("%s with scale %d: %v", digits, scale, err)
		}
		if got := got.BigInt(); got.Cmp(unscaled) != 0 {
			rt.Fatalf("got %s, want %s (scale %d)", got, unscaled, scale)
		}
	})
}

func TestCopySpecialDecimals(t *testing.T) {
	table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{column("n", "numeric", schema.Decimal(10, 2))}}
	for _, sign := range []byte{0xC0, 0xD0, 0xF0} {
		stream := copyStream([][]byte{{0, 0, 0, 0, sign, 0, 0, 0}})
		if _, err := decodeCopy(t, table, copyOptions{MaxRows: 1}, stream, 100); !errors.Is(err, errSpecialDecimal) {
			t.Errorf("sign %x: %v", sign, err)
		}
		if got, err := decodeCopy(t, table, copyOptions{MaxRows: 1, SpecialNull: true}, stream, 100); err != nil || !strings.Contains(got, `"n":null`) {
			t.Errorf("sign %x: %q %v", sign, got, err)
		}
	}
}

func FuzzCopyDecoder(f *testing.F) {
	table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{column("id", "int4", schema.Int()), column("n", "numeric", schema.Decimal(12, 2)), column("s", "text", schema.String())}}
	f.Add(copyStream([][]byte{{0, 0, 0, 1}, {0, 1, 0, 0, 0, 0, 0, 2, 0, 7}, []byte("x")}), 3)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		decodeCopy(t, table, copyOptions{MaxRows: 2}, stream, max(piece, 1))
	})
}

// BenchmarkCopyOrders decodes rows like those of the benchmark table, one Write a row.
func BenchmarkCopyOrders(b *testing.B) {
	table := &schema.Table{ID: schema.TableID{Table: "orders"}, Columns: []schema.Column{
		column("id", "int8", schema.BigInt()), column("customer_id", "int8", schema.BigInt()), column("status", "varchar", schema.Varchar(16)),
		column("amount", "numeric", schema.Decimal(12, 2)), column("note", "varchar", schema.Varchar(120)),
		column("created_at", "timestamp", schema.Timestamp(3)), column("updated_at", "timestamp", schema.Timestamp(3)),
	}}
	note := bytes.Repeat([]byte("n"), 80)
	row := copyStream([][]byte{make([]byte, 8), make([]byte, 8), []byte("shipped"), {0, 2, 0, 0, 0, 0, 0, 2, 4, 0, 0, 100}, note, make([]byte, 8), make([]byte, 8)})
	head := len(copySignature) + 8
	d := newCopyDecoder(memory.DefaultAllocator, table, copyOptions{MaxRows: 8192}, func(r arrow.RecordBatch) error { r.Release(); return nil })
	defer d.Release()
	if _, err := d.Write(row[:head]); err != nil {
		b.Fatal(err)
	}
	row = row[head : len(row)-2]
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Write(row); err != nil {
			b.Fatal(err)
		}
	}
}
