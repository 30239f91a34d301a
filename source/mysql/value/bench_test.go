package value

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// orders is the table that all benchmarks of freshet use.
var orders = []struct {
	name, typ string
	ct        CellType
}{
	{"id", "bigint", CellType{Type: cellLongLong}}, {"customer_id", "bigint", CellType{Type: cellLongLong}}, {"status", "varchar(16)", CellType{Type: cellVarchar, Meta: 64}},
	{"amount", "decimal(12,2)", CellType{Type: cellNewDecimal, Meta: 12<<8 | 2}}, {"note", "varchar(120)", CellType{Type: cellVarchar, Meta: 480}},
	{"created_at", "timestamp(3)", CellType{Type: cellTimestamp2, Meta: 3}}, {"updated_at", "timestamp(3)", CellType{Type: cellTimestamp2, Meta: 3}},
}

func ordersBuilder(b *testing.B) ([]schema.Column, *array.RecordBuilder) {
	b.Helper()
	t := &schema.Table{}
	for _, c := range orders {
		sc, err := Column(Definition{Name: c.name, ColumnType: c.typ, Charset: "utf8mb4"}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		t.Columns = append(t.Columns, sc)
	}
	return t.Columns, array.NewRecordBuilder(memory.DefaultAllocator, t.ArrowSchema())
}

// batchRows is how many rows make a record.
const batchRows = 4096

const benchNote = "a note of an order, as long as notes of orders are"

// BenchmarkCells decodes rows of the binlog.
func BenchmarkCells(b *testing.B) {
	cols, rb := ordersBuilder(b)
	defer rb.Release()
	var row []byte
	row = binary.LittleEndian.AppendUint64(row, 1234567)
	row = binary.LittleEndian.AppendUint64(row, 7654321)
	row = append(append(row, 7), "shipped"...)
	row = append(row, 0x80, 0, 0, 0x30, 0x39, 50) // 12345.50
	row = append(append(row, byte(len(benchNote)), 0), benchNote...)
	for range 2 {
		row = append(binary.BigEndian.AppendUint32(row, 1_709_210_096), 0x1E, 0xD2)
	}
	readers := make([]CellReader, len(cols))
	for i, c := range cols {
		var err error
		if readers[i], err = NewCellReader(c, orders[i].ct, rb.Field(i), Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := row
		for _, read := range readers {
			n, err := read(p)
			if err != nil {
				b.Fatal(err)
			}
			p = p[n:]
		}
		if i%batchRows == batchRows-1 {
			rb.NewRecordBatch().Release()
		}
	}
}

// BenchmarkText decodes rows of the text protocol.
func BenchmarkText(b *testing.B) {
	cols, rb := ordersBuilder(b)
	defer rb.Release()
	var row []byte
	for _, v := range []string{"1234567", "7654321", "shipped", "12345.50", benchNote, "2024-02-29 12:34:56.789", "2024-02-29 12:34:56.789"} {
		row = append(append(row, byte(len(v))), v...)
	}
	readers := make([]TextReader, len(cols))
	for i, c := range cols {
		var err error
		if readers[i], err = NewTextReader(c, rb.Field(i), Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(row)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := row
		for _, read := range readers {
			n := int(p[0])
			if err := read(p[1 : 1+n]); err != nil {
				b.Fatal(err)
			}
			p = p[1+n:]
		}
		if i%batchRows == batchRows-1 {
			rb.NewRecordBatch().Release()
		}
	}
}

// BenchmarkJSON prints a document of 20 members.
func BenchmarkJSON(b *testing.B) {
	doc := benchJSON()
	form := jsonForm(false)
	text, err := form(doc)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := form(doc); err != nil {
			b.Fatal(err)
		}
	}
}

// benchJSON is a small object of numbers and texts.
func benchJSON() []byte {
	const n = 20
	header := 4 + n*4 + n*3
	var keys, values, keyEntries, valueEntries []byte
	for i := range n {
		key := fmt.Sprintf("key%02d", i)
		keyEntries = binary.LittleEndian.AppendUint16(keyEntries, uint16(header+len(keys)))
		keyEntries = binary.LittleEndian.AppendUint16(keyEntries, uint16(len(key)))
		keys = append(keys, key...)
	}
	for i := range n {
		if i%2 == 0 {
			valueEntries = binary.LittleEndian.AppendUint16(append(valueEntries, jsonInt16), uint16(i*1000))
			continue
		}
		valueEntries = binary.LittleEndian.AppendUint16(append(valueEntries, jsonString), uint16(header+len(keys)+len(values)))
		values = append(append(values, 12), "twelve chars"...)
	}
	doc := binary.LittleEndian.AppendUint16([]byte{jsonSmallObject}, n)
	doc = binary.LittleEndian.AppendUint16(doc, uint16(header+len(keys)+len(values)))
	return append(append(append(append(doc, keyEntries...), valueEntries...), keys...), values...)
}
