package sinktest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
)

// row is a row of the model: values in text by column; a missing one is NULL.
type row map[string]string

// event is a row of a batch to come.
type event struct {
	op          schema.Op
	row, before row
}

// Source is the model of one source table: its definition and its rows.
type Source struct {
	Def  *schema.Table
	rows []row
	next int // the next value of id
	// snapshotting is set between the start and the end of a staged snapshot, in
	// which nothing of the table may be seen.
	staged bool
}

func (s *Source) clone() *Source {
	c := *s
	c.rows = make([]row, len(s.rows))
	for i, r := range s.rows {
		c.rows[i] = maps.Clone(r)
	}
	return &c
}

// visible returns the rows that a sink must show, in text, sorted.
func (s *Source) visible() []string {
	if s.staged {
		return nil
	}
	out := make([]string, 0, len(s.rows))
	for _, r := range s.rows {
		out = append(out, r.text(s.Def))
	}
	slices.Sort(out)
	return out
}

func (r row) text(def *schema.Table) string {
	parts := make([]string, len(def.Columns))
	for i, c := range def.Columns {
		v, ok := r[c.Name]
		if !ok {
			v = array.NullValueStr
		}
		parts[i] = c.Name + "=" + v
	}
	return strings.Join(parts, " ")
}

// batchText returns the rows of a batch as row.text does.
func batchText(b *schema.Batch) []string {
	out := make([]string, b.Rows())
	for i := range out {
		parts := make([]string, len(b.Table.Columns))
		for c, col := range b.Table.Columns {
			parts[c] = col.Name + "=" + b.Record.Column(c).ValueStr(i)
		}
		out[i] = strings.Join(parts, " ")
	}
	return out
}

// batch builds a batch of one transaction.
func batch(mem memory.Allocator, def *schema.Table, events []event, position uint64, ordinal uint32) (*schema.Batch, error) {
	rows := func(pick func(event) row) (arrow.RecordBatch, error) {
		b := array.NewRecordBuilder(mem, def.ArrowSchema())
		defer b.Release()
		for _, e := range events {
			r := pick(e)
			for i, c := range def.Columns {
				v, ok := r[c.Name]
				if !ok {
					b.Field(i).AppendNull()
				} else if err := b.Field(i).AppendValueFromString(v); err != nil {
					return nil, fmt.Errorf("column %s: %w", c.Name, err)
				}
			}
		}
		return b.NewRecordBatch(), nil
	}
	rec, err := rows(func(e event) row { return e.row })
	if err != nil {
		return nil, err
	}
	out := schema.NewBatch(def, rec)
	if slices.ContainsFunc(events, func(e event) bool { return e.before != nil }) {
		if out.Before, err = rows(func(e event) row { return e.before }); err != nil {
			out.Release()
			return nil, err
		}
	}
	out.Txs = []schema.Tx{{ID: position, Commit: position, CommitTime: int64(position) * 1000, Rows: len(events)}}
	if events[0].op == schema.OpRead {
		out.Txs[0].ID = 0
		return out, nil
	}
	for i, e := range events {
		out.Ops = append(out.Ops, e.op)
		out.Positions = append(out.Positions, position)
		out.Ordinals = append(out.Ordinals, ordinal+uint32(i))
	}
	return out, nil
}

// value makes a value of a column, small integers so that every integer type holds them.
func value(col schema.Column, n int) string {
	if col.Type.Kind == schema.KindString {
		return "v" + strconv.Itoa(n)
	}
	return strconv.Itoa(n % 30000)
}
