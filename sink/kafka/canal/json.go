package canal

import "github.com/freshet-cdc/freshet/sink/kafka/javatext"

// appendString appends s in quotes.
func appendString(dst []byte, s string) []byte { return javatext.Fastjson.Append(dst, s) }
