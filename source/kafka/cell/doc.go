// Package cell puts the values of messages into columns of Arrow: a [Column] takes what a
// message has (a number as text, an unscaled decimal, microseconds) and appends it as its
// own type wants it, without a boxed value between. What does not fit is an error, never
// another value.
//
//	c := cell.New(schema.Decimal(10, 2), builder)
//	err := c.Number([]byte("12.5"))
//
// [Merge] says which type holds the values of two.
package cell
