package value

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// appendVector appends the float32s of a VECTOR, little-endian, as one list.
func appendVector(b *array.ListBuilder, floats *array.Float32Builder, v []byte) error {
	if len(v)%4 != 0 {
		return fmt.Errorf("%w: a VECTOR of %d bytes", ErrMalformed, len(v))
	}
	b.Append(true)
	for ; len(v) > 0; v = v[4:] {
		floats.Append(math.Float32frombits(uint32(littleEndian(v, 4))))
	}
	return nil
}
