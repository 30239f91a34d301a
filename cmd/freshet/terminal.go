package main

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// isTerminal says whether w is a terminal that people look at.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// switchWriter is where log lines go: to w, or above the bars while there are some.
type switchWriter struct {
	mu   sync.Mutex
	w    io.Writer
	bars io.Writer
}

// Write implements io.Writer.
func (s *switchWriter) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bars != nil {
		if n, err := s.bars.Write(data); err == nil {
			return n, nil
		}
	}
	return s.w.Write(data)
}

// show sends lines above the bars from now on; nil: no more.
func (s *switchWriter) show(bars io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bars = bars
}
