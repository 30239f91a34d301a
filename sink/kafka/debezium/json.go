package debezium

import (
	"math"

	"github.com/freshet-cdc/freshet/sink/kafka/javatext"
)

// appendString appends s in quotes, with the escapes that Kafka Connect's converter writes.
func appendString(dst []byte, s string) []byte { return javatext.Jackson.Append(dst, s) }

// appendFloat appends a float of so many bits. What is no number is a text, as
// JsonConverter writes it.
func appendFloat(dst []byte, v float64, bits int) []byte {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		return javatext.AppendFloat(dst, v, bits)
	}
	return append(javatext.AppendFloat(append(dst, '"'), v, bits), '"')
}
