package pebble

import (
	"fmt"
	"log/slog"
	"sync"
)

// failure keeps the first error of a store's writes, which may come from a
// goroutine of Pebble's.
type failure struct {
	once sync.Once
	done chan struct{} // closed when err is set
	err  error
}

func newFailure() *failure { return &failure{done: make(chan struct{})} }

func (f *failure) set(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.done)
	})
}

// get returns the error, if there is one.
func (f *failure) get() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// logger passes on Pebble's messages. What Pebble calls fatal is an error that it
// can't undo in memory: the store fails, the process goes on.
type logger struct {
	log     *slog.Logger
	failure *failure
}

func (l logger) Infof(format string, args ...any) {
	l.log.Debug(fmt.Sprintf(format, args...), "component", "pebble")
}

// Errorf logs at debug: an error that matters also reaches the caller.
func (l logger) Errorf(format string, args ...any) {
	l.log.Debug(fmt.Sprintf(format, args...), "component", "pebble", "error", true)
}

func (l logger) Fatalf(format string, args ...any) {
	l.failure.set(fmt.Errorf(format, args...))
}
