// Package jsontext reads JSON without building values: a [Scanner] walks over a text and
// hands out slices of it.
//
//	var s jsontext.Scanner
//	s.Reset(data)
//	err := s.Enter('{')
//	for {
//		key, ok, err := s.NextKey()
//		if err != nil || !ok {
//			break
//		}
//		raw, err := s.Skip()
//		...
//	}
//
// It takes what RFC 8259 calls JSON and nothing else: errors are [SyntaxError]s with the
// offset. A text that is not valid UTF-8 is one as well.
package jsontext
