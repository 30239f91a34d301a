//go:build !linux

package pipeline

// forgetProgram does nothing where the kernel does not count what is not used.
func forgetProgram() {}
