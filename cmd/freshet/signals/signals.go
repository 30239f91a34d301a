// Package signals catches SIGINT and SIGTERM from the process's first moment on.
//
//	for s := range signals.Received() { ... }
//
// It must import nothing but os and os/signal: Go initialises it as soon as these two
// are, a millisecond after the start, and before packages that take a hundred
// times as long. Until then a signal ends the process, which has not begun anything.
package signals

import (
	"os"
	"os/signal"
	"syscall"
)

// received holds a first signal, and a second and third that come in a hurry.
var received = make(chan os.Signal, 3)

func init() { signal.Notify(received, os.Interrupt, syscall.SIGTERM) }

// Received delivers the signals caught since the process started.
func Received() <-chan os.Signal { return received }

// Release lets signals end the process again. It returns one that came before, nil
// for none.
func Release() os.Signal {
	signal.Stop(received)
	select {
	case s := <-received:
		return s
	default:
		return nil
	}
}
