// Package javatext writes values as Java's libraries print them, which is how readers of
// Kafka topics know them: floats as Double.toString, dates and clocks as java.time, and
// texts with the escapes of the JSON libraries Jackson and fastjson. The message formats share it.
//
//	dst = javatext.Jackson.Append(dst, "a \"text\"")
//	dst = javatext.AppendDate(dst, 19_000) // 2022-01-08
//
// Every function appends to dst and returns it; none allocates beyond that.
package javatext
