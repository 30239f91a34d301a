// Package storetest is the conformance suite of checkpoint stores.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Place { return newPlace(t) })
//	}
package storetest
