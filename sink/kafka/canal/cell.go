package canal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/freshet-cdc/freshet/sink/kafka/plain/cell"
)

// flagCell writes TINYINT(1) and BIT(1) as numbers.
type flagCell struct{ col *array.Boolean }

func (c *flagCell) Bind(col arrow.Array) { c.col = col.(*array.Boolean) }

func (c *flagCell) Append(dst []byte, i int) ([]byte, error) {
	if c.col.Value(i) {
		return append(dst, '1'), nil
	}
	return append(dst, '0'), nil
}

// bitCell writes BIT(n), which comes with its lowest byte first, as a number.
type bitCell struct{ col *array.Binary }

func (c *bitCell) Bind(col arrow.Array) { c.col = col.(*array.Binary) }

func (c *bitCell) Append(dst []byte, i int) ([]byte, error) {
	v := c.col.Value(i)
	if len(v) > 8 {
		return dst, cell.ErrRange
	}
	var n uint64
	for j := len(v) - 1; j >= 0; j-- {
		n = n<<8 | uint64(v[j])
	}
	return strconv.AppendUint(dst, n, 10), nil
}

// yearCell writes YEAR with four digits.
type yearCell struct{ values []int32 }

func (c *yearCell) Bind(col arrow.Array) { c.values = arrow.GetValues[int32](col.Data(), 1) }

func (c *yearCell) Append(dst []byte, i int) ([]byte, error) {
	if v := c.values[i]; v != 0 {
		return strconv.AppendInt(dst, int64(v), 10), nil
	}
	return append(dst, "0000"...), nil
}

// enumCell writes a label as its number; what the server keeps for a label that it did
// not know is 0.
type enumCell struct {
	col     *array.String
	numbers map[string]int
}

func newEnumCell(labels []string) *enumCell {
	c := &enumCell{numbers: map[string]int{"": 0}}
	for i, label := range labels {
		c.numbers[label] = i + 1
	}
	return c
}

func (c *enumCell) Bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *enumCell) Append(dst []byte, i int) ([]byte, error) {
	n, ok := c.numbers[c.col.Value(i)]
	if !ok {
		return dst, fmt.Errorf("%w: %q is no label", cell.ErrText, c.col.Value(i))
	}
	return strconv.AppendInt(dst, int64(n), 10), nil
}

// setCell writes labels as a number with a bit for each.
type setCell struct {
	col  *array.String
	bits map[string]uint64
}

func newSetCell(labels []string) *setCell {
	c := &setCell{bits: make(map[string]uint64, len(labels))}
	for i, label := range labels {
		c.bits[label] = 1 << i
	}
	return c
}

func (c *setCell) Bind(col arrow.Array) { c.col = col.(*array.String) }

func (c *setCell) Append(dst []byte, i int) ([]byte, error) {
	var set uint64
	rest := c.col.Value(i)
	for more := rest != ""; more; {
		var label string
		label, rest, more = strings.Cut(rest, ",")
		bit, ok := c.bits[label]
		if !ok {
			return dst, fmt.Errorf("%w: %q is no label", cell.ErrText, label)
		}
		set |= bit
	}
	return strconv.AppendUint(dst, set, 10), nil
}
