package binlog

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// update appends an update. A change of the key becomes a delete and an insert,
// for to a sink these are two keys: one goes, one comes.
func (t *tableDecoder) update(p []byte) error {
	if t.layout.rowEnd >= 0 {
		if t.history(p, &t.old) {
			return nil
		}
		if t.history(p, &t.new) { // the row was deleted
			return t.appendDelete(p)
		}
	}
	for i := range t.new.cells { // what is left out has not changed
		if t.new.cells[i].at == cellMissing && !t.layout.columns[i].computed {
			t.new.cells[i] = t.old.cells[i]
		}
	}
	if err := t.needKey(p, &t.old); err != nil {
		return err
	}
	op := schema.OpUpdate
	if t.keyChanged(p) {
		if err := t.appendDelete(p); err != nil {
			return err
		}
		op = schema.OpInsert
	}
	for i := range t.layout.columns {
		if err := t.appendChanged(p, i, op); err != nil {
			return err
		}
	}
	if t.before != nil {
		if op == schema.OpInsert {
			t.before.appendNulls()
		} else if err := t.appendBefore(p); err != nil {
			return err
		}
	}
	t.begin(op)
	return nil
}

// appendChanged appends a cell of the row after an update.
func (t *tableDecoder) appendChanged(p []byte, i int, op schema.Op) error {
	c := t.new.cells[i]
	target := t.layout.columns[i].target
	switch {
	case c.at == cellMissing && target >= 0:
		if op != schema.OpUpdate || !t.layout.sinkResolves || t.layout.columns[i].computed {
			return t.imageError(p, &t.old, i)
		}
		t.builder.cols[target].AppendNull()
		t.unchanged = append(t.unchanged, schema.Cell{Row: int32(t.rows), Column: int32(target)})
		return nil
	case t.partialCells[i] && c.at >= 0 && target >= 0:
		old := t.old.cells[i]
		if old.at < 0 {
			return t.imageError(p, &t.old, i)
		}
		if _, err := t.builder.partial[i](p[old.at:old.end], p[c.at:c.end]); err != nil {
			return t.valueError(p, &t.old, i, err)
		}
		return nil
	}
	return t.appendCell(t.builder, p, &t.new, i)
}

// history reports whether an image of a system-versioned table is a row of the past:
// its end is not the end of time.
func (t *tableDecoder) history(p []byte, img *image) bool {
	if t.layout.rowEnd < 0 {
		return false
	}
	c := img.cells[t.layout.rowEnd]
	if c.at < 0 {
		return false
	}
	switch string(p[c.at:c.end]) {
	case "\x7f\xff\xff\xff\x0f\x42\x3f", // 2038-01-19 03:14:07.999999
		"\xff\xff\xff\xff\x0f\x42\x3f",     // 2106-02-07 06:28:15.999999, since MariaDB 11.5
		"\xff\xff\xff\xff\xff\xff\xff\xff": // by transaction
		return false
	}
	return true
}

// needKey fails where an image lacks a column of the key.
func (t *tableDecoder) needKey(p []byte, img *image) error {
	for _, i := range t.layout.keys {
		if img.cells[i].at == cellMissing {
			return t.imageError(p, img, i)
		}
	}
	return nil
}

// appendDefault appends what an insert that leaves column i out has put there.
func (t *tableDecoder) appendDefault(p []byte, i int) error {
	c := &t.layout.columns[i]
	switch {
	case !c.fallback.known:
		return t.imageError(p, &t.new, i)
	case c.fallback.text == nil:
		t.builder.cols[c.target].AppendNull()
		return nil
	}
	if t.builder.text[i] == nil {
		read, err := value.NewTextReader(t.layout.table.Columns[c.target], t.builder.cols[c.target], t.layout.values)
		if err != nil {
			return err
		}
		t.builder.text[i] = read
	}
	if err := t.builder.text[i]([]byte(*c.fallback.text)); err != nil {
		return t.valueError(p, &t.new, i, err)
	}
	return nil
}

// imageError says that column i is not in the log.
func (t *tableDecoder) imageError(p []byte, img *image, i int) error {
	if t.layout.columns[i].computed {
		return t.valueError(p, img, i, withHint(fmt.Errorf("%w: the server leaves generated columns out of the log", ErrImage),
			"drop the generated column, or let a new pipeline read the table, which does not capture it; where the pipeline began in the past of the binlog, begin it later"))
	}
	return t.valueError(p, img, i, withHint(fmt.Errorf("%w: the row in the log leaves it out (binlog_row_image is not FULL)", ErrImage),
		"run SET GLOBAL binlog_row_image=FULL and connect anew where it was written; what is in the log already stays as it is: let the pipeline read the table again"))
}

// valueError names the table, column, key and position of a value.
func (t *tableDecoder) valueError(p []byte, img *image, i int, cause error) error {
	name := "(not sent)"
	if target := t.layout.columns[i].target; target >= 0 {
		name = t.layout.table.Columns[target].Name
	}
	return &ValueError{Table: t.layout.table.ID, Column: name, Key: t.keyText(p, img), Position: t.pos, Err: cause}
}

// keyText prints the key of an image as column=value.
func (t *tableDecoder) keyText(p []byte, img *image) string {
	var parts []string
	for _, i := range t.layout.keys {
		c := img.cells[i]
		column := t.layout.table.Columns[t.layout.columns[i].target]
		if c.at < 0 {
			continue
		}
		b := array.NewBuilder(memory.DefaultAllocator, column.Type.Arrow())
		read, err := value.NewCellReader(column, t.layout.columns[i].typ, b, t.layout.values)
		if err == nil {
			_, err = read(p[c.at:c.end])
		}
		if err == nil {
			a := b.NewArray()
			parts = append(parts, column.Name+"="+a.ValueStr(0))
			a.Release()
		}
		b.Release()
	}
	return strings.Join(parts, ", ")
}
