package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
	"github.com/freshet-cdc/freshet/source/kafka/connect"
)

// ErrChange is wrapped by every change of a table that can't be followed.
var ErrChange = errors.New("the table's definition can't follow the messages")

// ChangeError is a message whose columns don't go with those of its table.
type ChangeError struct {
	Table  schema.TableID
	Column string
	// Problem says what is wrong, Hint the way out.
	Problem, Hint string
}

func (e *ChangeError) Error() string {
	return fmt.Sprintf("table %s, column %s: %v: %s (%s)", e.Table, e.Column, ErrChange, e.Problem, e.Hint)
}

func (e *ChangeError) Unwrap() error { return ErrChange }

// Config says how tables are kept.
type Config struct {
	Needs source.Needs
	// Match says which tables are captured.
	Match func(schema.TableID) bool
	// Given returns the definition that the user gave for a table, or nil.
	Given func(schema.TableID) *schema.Table
	// Placeholder stands for a value that was left out, empty for none.
	Placeholder string
	// MaxRows and MaxBytes of messages end a batch.
	MaxRows, MaxBytes int
	// Emit takes what is complete.
	Emit   func(source.Element) error
	Memory memory.Allocator
}

// Set is all tables of a source. It belongs to one goroutine.
type Set struct {
	cfg    Config
	tables map[schema.TableID]*Table
	order  []*Table
	passed map[schema.TableID]bool // not captured
	rows   int64
}

// At is where a row lies in the log.
type At struct {
	// Position is the row's log position, Tx the transaction at its source (0 where unknown),
	// Time that of the change in microseconds since 1970.
	Position uint64
	Tx       uint64
	Time     int64
	// Bytes is the size of the message.
	Bytes int
}

// NewSet returns a set without tables.
func NewSet(cfg Config) *Set {
	return &Set{cfg: cfg, tables: map[schema.TableID]*Table{}, passed: map[schema.TableID]bool{}}
}

// Restore announces a table as a checkpoint knew it.
func (s *Set) Restore(def *schema.Table, position uint64) error {
	t := s.add(def)
	t.fixed = s.cfg.Given(def.ID) != nil
	return t.announce(position)
}

// Get returns a table that is known, or nil.
func (s *Set) Get(id schema.TableID) *Table { return s.tables[id] }

// Captured says whether a table is captured.
func (s *Set) Captured(id schema.TableID) bool {
	if s.tables[id] != nil {
		return true
	}
	if s.passed[id] {
		return false
	}
	if !s.cfg.Match(id) {
		s.passed[id] = true
		return false
	}
	return true
}

// Definitions returns the tables' present definitions, in the order in which they came.
func (s *Set) Definitions() []*schema.Table {
	out := make([]*schema.Table, len(s.order))
	for i, t := range s.order {
		out[i] = t.Def
	}
	return out
}

// Rows counts the rows so far.
func (s *Set) Rows() int64 { return s.rows }

// Open returns a captured table; the first time it is announced: with the definition that
// the user gave, else with the columns of row and the key. omits says that updates of it may
// leave out values that did not change.
func (s *Set) Open(id schema.TableID, key []string, row *connect.Schema, omits bool, at At) (*Table, error) {
	columns, err := row.Columns()
	if err != nil {
		return nil, err
	}
	return s.open(id, key, columns, omits, at)
}

// OpenColumns is Open for columns that are known otherwise.
func (s *Set) OpenColumns(id schema.TableID, key []string, columns []schema.Column, at At) (*Table, error) {
	return s.open(id, key, columns, false, at)
}

func (s *Set) open(id schema.TableID, key []string, columns []schema.Column, omits bool, at At) (*Table, error) {
	if t := s.tables[id]; t != nil {
		return t, nil
	}
	def := &schema.Table{ID: id, Version: 1, PrimaryKey: slices.Clone(key)}
	given := s.cfg.Given(id)
	if given != nil {
		def = given.WithID(id)
		def.Version = 1
		if len(def.PrimaryKey) == 0 && hasAll(def, key) {
			def.PrimaryKey = slices.Clone(key)
		}
	} else {
		def.Columns = slices.Clone(columns)
	}
	def.OmitsUnchanged = omits && s.cfg.Placeholder != ""
	t := s.add(def)
	t.fixed = given != nil
	if err := t.setKey(key); err != nil {
		return nil, err
	}
	return t, t.announce(at.Position)
}

func hasAll(def *schema.Table, names []string) bool {
	for _, name := range names {
		if _, i := def.Column(name); i < 0 {
			return false
		}
	}
	return true
}

func (s *Set) add(def *schema.Table) *Table {
	t := &Table{set: s}
	t.define(def)
	s.tables[def.ID] = t
	s.order = append(s.order, t)
	return t
}

// setKey makes the columns of the key NOT NULL.
func (t *Table) setKey(key []string) error {
	if t.fixed {
		key = t.Def.PrimaryKey
	}
	def := t.Def.Clone()
	for _, name := range key {
		_, i := def.Column(name)
		if i < 0 {
			return &ChangeError{Table: def.ID, Column: name, Problem: "the messages' key has it, the row has not",
				Hint: "set key.format to none and give the PRIMARY KEY in the option schema"}
		}
		def.Columns[i].Nullable = false
	}
	t.define(def)
	return nil
}

// CheckKey fails where the messages' key is not that of the table any more.
func (t *Table) CheckKey(key []string) error {
	if t.fixed || len(key) == 0 || slices.Equal(key, t.Def.PrimaryKey) {
		return nil
	}
	return &ChangeError{Table: t.Def.ID, Column: strings.Join(key, ", "), Problem: fmt.Sprintf("it is the messages' key now, and was (%s)", strings.Join(t.Def.PrimaryKey, ", ")),
		Hint: "a table's key stays as it is: give the PRIMARY KEY in the option schema, or begin again in a new table"}
}

// Flush emits the rows of all tables.
func (s *Set) Flush() error {
	for _, t := range s.order {
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Release gives back the memory of rows that were not emitted.
func (s *Set) Release() {
	for _, t := range s.order {
		t.release()
	}
}
