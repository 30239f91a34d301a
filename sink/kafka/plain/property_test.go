package plain

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/freshet-cdc/freshet/schema"
)

// texts draws texts that hold what the formats give a meaning to.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`[a,;"'\\|#\n\r\t N+\-]{0,6}`), rapid.StringMatching(`[a-zäö😀]{20,28}`))
}

// textTable has columns that are texts, and an array.
func textTable(n int) *schema.Table {
	t := &schema.Table{ID: schema.TableID{Schema: "s", Table: "t"}}
	for i := range n {
		t.Columns = append(t.Columns, schema.Column{Name: string(rune('a' + i)), Type: schema.String(), Nullable: true})
	}
	return t
}

// textBatch makes a batch of one row; nil is a NULL.
func textBatch(t *schema.Table, row []*string) *schema.Batch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
	defer b.Release()
	for i, v := range row {
		if v == nil {
			b.Field(i).AppendNull()
		} else {
			b.Field(i).(*array.StringBuilder).Append(*v)
		}
	}
	return schema.NewBatch(t, b.NewRecordBatch())
}

func drawRow(t *rapid.T) []*string {
	return rapid.SliceOfN(rapid.Ptr(texts(), true), 1, 4).Draw(t, "row")
}

// TestJSONReadsBack: what is written is what encoding/json reads.
func TestJSONReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := drawRow(t)
		table := textTable(len(row))
		e, err := New(table, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out Output
		if err := e.Append(&out, textBatch(table, row), nil, 0); err != nil {
			t.Fatal(err)
		}
		var got map[string]*string
		if err := json.Unmarshal(out.Value(0), &got); err != nil {
			t.Fatalf("%s: %v", out.Value(0), err)
		}
		for i, want := range row {
			if v := got[table.Columns[i].Name]; (v == nil) != (want == nil) || v != nil && *v != *want {
				t.Fatalf("%q became %s", *want, out.Value(0))
			}
		}
	})
}

// TestCSVReadsBack: what is written is what encoding/csv reads, whatever the delimiter;
// and a NULL is told from every text, since it alone is the null literal without quotes.
func TestCSVReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := drawRow(t)
		table := textTable(len(row))
		o := CSVOptions{Delimiter: rapid.SampledFrom([]byte(",;|\t")).Draw(t, "delimiter"), Null: rapid.SampledFrom([]string{"", "N", `\N`}).Draw(t, "null")}
		e, err := New(table, Options{Format: CSV, CSV: o})
		if err != nil {
			t.Fatal(err)
		}
		var out Output
		if err := e.Append(&out, textBatch(table, row), nil, 0); err != nil {
			t.Fatal(err)
		}
		line := out.Value(0)
		for i, want := range row {
			var raw []byte
			raw, line = cutField(line, o.Delimiter)
			if null := string(raw) == o.Null; null != (want == nil) {
				t.Fatalf("field %d of %q", i, out.Value(0))
			}
		}
		if len(out.Value(0)) == 0 {
			return // one NULL: an empty line, which the reader skips
		}
		r := csv.NewReader(bytes.NewReader(out.Value(0)))
		r.Comma = rune(o.Delimiter)
		got, err := r.Read()
		if err != nil || len(got) != len(row) {
			t.Fatalf("%q: %q, %v", out.Value(0), got, err)
		}
		for i, want := range row {
			if want != nil && got[i] != strings.ReplaceAll(*want, "\r\n", "\n") { // the reader does so
				t.Fatalf("%q became %q", *want, got[i])
			}
		}
	})
}

// cutField cuts the first field off a line, with its quotes.
func cutField(line []byte, delimiter byte) (field, rest []byte) {
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == delimiter && !quoted:
			return line[:i], line[i+1:]
		}
	}
	return line, nil
}

// TestBareReadsBack: without quotes each text is written so that taking away the escapes
// gives it back, or it is an error.
func TestBareReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts().Draw(t, "s")
		o := CSVOptions{NoQuote: true, Escape: rapid.SampledFrom([]byte{0, '\\'}).Draw(t, "escape")}.withDefaults()
		got, err := newCSVText(o).finish([]byte("x,"+s), 2)
		special := strings.ContainsAny(s, ",\n\r")
		if errors.Is(err, ErrUnquoted) && o.Escape == 0 && special {
			return
		}
		if err != nil || o.Escape == 0 && special {
			t.Fatalf("%q: %q, %v", s, got, err)
		}
		var back []byte
		for text := got[2:]; len(text) > 0; text = text[1:] {
			if o.Escape != 0 && text[0] == o.Escape {
				text = text[1:]
			} else if strings.IndexByte(",\n\r", text[0]) >= 0 {
				t.Fatalf("%q has %q unescaped", got, text[0])
			}
			back = append(back, text[0])
		}
		if string(back) != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

// TestElementsReadBack: the elements of an array can be told apart, or it is an error.
func TestElementsReadBack(t *testing.T) {
	table := &schema.Table{ID: schema.TableID{Table: "t"}, Columns: []schema.Column{{Name: "a", Type: schema.Array(schema.String()), Nullable: true}}}
	rapid.Check(t, func(t *rapid.T) {
		elems := rapid.SliceOfN(rapid.Ptr(rapid.StringMatching(`[a;N]{0,3}`), true), 0, 4).Draw(t, "elems")
		b := array.NewRecordBuilder(memory.DefaultAllocator, table.ArrowSchema())
		defer b.Release()
		list := b.Field(0).(*array.ListBuilder)
		list.Append(true)
		for _, v := range elems {
			if v == nil {
				list.ValueBuilder().AppendNull()
			} else {
				list.ValueBuilder().(*array.StringBuilder).Append(*v)
			}
		}
		o := CSVOptions{Null: rapid.SampledFrom([]string{"", "N"}).Draw(t, "null")}
		e, err := New(table, Options{Format: CSV, CSV: o})
		if err != nil {
			t.Fatal(err)
		}
		var out Output
		if err := e.Append(&out, schema.NewBatch(table, b.NewRecordBatch()), nil, 0); err != nil {
			if !errors.Is(err, ErrElement) {
				t.Fatal(err)
			}
			return
		}
		text := strings.Trim(string(out.Value(0)), `"`)
		var got []string
		if text != "" || len(elems) == 1 {
			got = strings.Split(text, ";")
		}
		if len(got) != len(elems) {
			t.Fatalf("%d elements became %q", len(elems), out.Value(0))
		}
		for i, v := range elems {
			if (v == nil) != (got[i] == o.Null) || v != nil && *v != got[i] {
				t.Fatalf("element %d of %q", i, out.Value(0))
			}
		}
	})
}
