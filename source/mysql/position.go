package mysql

import (
	"fmt"
	"sync/atomic"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
)

// names is how the source's positions are named at present. The reader sets it when
// its files change. Safe for concurrent use.
type names struct{ files atomic.Pointer[binlog.Files] }

func (n *names) set(f binlog.Files) { n.files.Store(&f) }

// of returns how positions of a file are named: as the reader has it, else as the
// server numbers its files.
func (n *names) of(file string) (binlog.Files, error) {
	base, _, err := binlog.ParseFile(file)
	if err != nil {
		return binlog.Files{}, err
	}
	if f := n.files.Load(); f != nil && f.Base == base {
		return *f, nil
	}
	return binlog.Files{Base: base}, nil
}

// FormatPosition prints a position as SHOW BINARY LOG STATUS does, for instance
// binlog.000003:1234; before the source was connected without the file's name.
func (s *Source) FormatPosition(pos uint64) string {
	if f := s.cfg.names.files.Load(); f != nil {
		return f.Format(pos)
	}
	p := binlog.Files{}.Place(pos)
	return fmt.Sprintf("%s:%d", p.File[1:], p.Offset)
}
