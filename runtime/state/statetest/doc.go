// Package statetest is the conformance suite of state back ends.
//
//	func TestConformance(t *testing.T) {
//		statetest.Run(t, memory.NewBackend(memory.Options{}), statetest.Traits{})
//	}
package statetest
