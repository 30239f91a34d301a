package debezium

import (
	"bytes"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
)

// DeleteMode is delete.tombstone.handling.mode of Debezium's ExtractNewRecordState.
type DeleteMode string

// The delete modes.
const (
	DeleteDrop                 DeleteMode = "drop"
	DeleteTombstone            DeleteMode = "tombstone"              // the tombstone alone
	DeleteRewrite              DeleteMode = "rewrite"                // the old row, with __deleted
	DeleteRewriteWithTombstone DeleteMode = "rewrite-with-tombstone" // both
	DeleteToTombstone          DeleteMode = "delete-to-tombstone"    // a tombstone in any case
)

// Flatten says how rows are written without an envelope.
type Flatten struct {
	// Deletes is what becomes of a delete; by default [DeleteTombstone].
	Deletes DeleteMode
	// Fields and Headers name what of the envelope is added to rows (add.fields) and
	// to headers (add.headers): op, ts_ms, or a field of the source block, with or without
	// "source." in front.
	Fields, Headers []string
	// FieldPrefix and HeaderPrefix stand before their names; by default two underscores.
	FieldPrefix, HeaderPrefix *string
}

// flattener writes rows by a Flatten.
type flattener struct {
	mode            DeleteMode
	fields, headers []added
	marks           bool // __deleted
	block           []byte
}

// added is a value of the envelope.
type added struct {
	name  string
	json  []byte // "name":
	op    bool
	times int // of the envelope: 1 for ts_ms, 2 for ts_us, 3 for ts_ns
	field string
	typ   connectType
}

func newFlattener(o *Options, t *schema.Table) (*flattener, error) {
	f := &flattener{mode: o.Flatten.Deletes}
	if f.mode == "" {
		f.mode = DeleteTombstone
	}
	modes := []string{string(DeleteDrop), string(DeleteTombstone), string(DeleteRewrite), string(DeleteRewriteWithTombstone), string(DeleteToTombstone)}
	if !slices.Contains(modes, string(f.mode)) {
		return nil, &OptionError{Key: "delete.tombstone.handling.mode", Value: string(f.mode), Allowed: modes}
	}
	f.marks = f.mode == DeleteRewrite || f.mode == DeleteRewriteWithTombstone
	var err error
	if f.fields, err = addedFields(o, "add.fields", o.Flatten.Fields, o.Flatten.FieldPrefix); err != nil {
		return nil, err
	}
	if f.headers, err = addedFields(o, "add.headers", o.Flatten.Headers, o.Flatten.HeaderPrefix); err != nil {
		return nil, err
	}
	for _, a := range f.fields {
		if _, i := t.Column(a.name); i >= 0 {
			return nil, &TableError{Table: t.ID.String(), Column: a.name, Msg: "an added field has the name of a column", Hint: "choose another add.fields.prefix"}
		}
	}
	return f, nil
}

// addedFields resolves names, with a new name behind a colon where one is given.
func addedFields(o *Options, key string, names []string, prefix *string) ([]added, error) {
	pre := "__"
	if prefix != nil {
		pre = *prefix
	}
	source := sourceType(o)
	var out []added
	for _, spec := range names {
		path, rename, renamed := strings.Cut(spec, ":")
		a := added{field: strings.TrimPrefix(path, "source."), name: pre + strings.ReplaceAll(path, ".", "_")}
		if renamed {
			a.name = pre + rename
		}
		switch a.typ = plain("int64"); path {
		case "op":
			a.op, a.typ = true, plain("string")
		case "ts_ms", "ts_us", "ts_ns":
			a.times = 1 + slices.Index([]string{"ts_ms", "ts_us", "ts_ns"}, path)
		default:
			i := slices.IndexFunc(source.fields, func(f connectField) bool { return f.name == a.field })
			if i < 0 {
				allowed := []string{"op", "ts_ms", "ts_us", "ts_ns"}
				for _, f := range source.fields {
					allowed = append(allowed, "source."+f.name)
				}
				return nil, &OptionError{Key: key, Value: path, Allowed: allowed}
			}
			a.typ = source.fields[i].connectType
		}
		a.typ.optional = true
		a.json = append(appendString(nil, a.name), ':')
		out = append(out, a)
	}
	return out, nil
}

// valueType is the schema of flat rows.
func (f *flattener) valueType(row connectType) connectType {
	row.optional = false
	row.fields = slices.Clone(row.fields)
	text := plain("string")
	text.optional = true
	if f.marks {
		row.fields = append(row.fields, connectField{"__deleted", text})
	}
	for _, a := range f.fields {
		row.fields = append(row.fields, connectField{a.name, a.typ})
	}
	return row
}

// deletes says what a delete gives: a message, and a tombstone. Tombstones that the
// connector does not write can't be kept.
func (f *flattener) deletes(tombstones bool) (event, tombstone bool) {
	switch f.mode {
	case DeleteTombstone:
		return false, tombstones
	case DeleteRewrite:
		return true, false
	case DeleteRewriteWithTombstone:
		return true, tombstones
	case DeleteToTombstone:
		return false, true
	}
	return false, false
}

// flatten appends the value of a message: the new row, or of a delete the old one.
func (r *run) flatten(m message) (err error) {
	e, f := r.e, r.e.flat
	w, row := m.after, m.row
	if m.op == Delete {
		w, row = m.before, m.beforeRow
	}
	dst := append(r.out.Data, e.valueOpen...)
	if dst, err = w.append(dst, row, m.unchanged); err != nil {
		return err
	}
	dst = dst[:len(dst)-1] // what follows belongs to the object
	empty := dst[len(dst)-1] == '{'
	comma := func() {
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
	}
	if f.marks {
		comma()
		dst = append(dst, `"__deleted":"`...)
		if m.op == Delete {
			dst = append(dst, `true"`...)
		} else {
			dst = append(dst, `false"`...)
		}
	}
	if len(f.fields)+len(f.headers) > 0 {
		f.block = e.source.append(f.block[:0], r.place(m.row, m.op))
	}
	for i := range f.fields {
		comma()
		dst = r.added(append(dst, f.fields[i].json...), &f.fields[i], m.op)
	}
	r.out.Data = append(append(dst, '}'), e.end...)
	return nil
}

// flatHeaders appends the headers that are asked for. The source block is that of
// flatten.
func (r *run) flatHeaders(m message) {
	for i := range r.e.flat.headers {
		a := &r.e.flat.headers[i]
		start := len(r.out.Data)
		r.out.Data = r.added(r.out.Data, a, m.op)
		r.out.headers = append(r.out.headers, headerSpan{key: a.name, value: span{start, len(r.out.Data)}})
	}
}

// added appends a value of the envelope.
func (r *run) added(dst []byte, a *added, op Operation) []byte {
	switch {
	case a.op:
		return append(dst, '"', byte(op), '"')
	case a.times > 0:
		return append(dst, timeOf(r.e.times, a.times)...)
	}
	return append(dst, member(r.e.flat.block, a.field)...)
}

// timeOf cuts the n-th time out of what stamp has printed.
func timeOf(times []byte, n int) []byte {
	for range n - 1 {
		times = times[bytes.Index(times, []byte(`":`))+2:]
	}
	text, _, _ := bytes.Cut(times, []byte{','})
	return text
}

// member returns the JSON of a member of a source block, which has no objects inside.
func member(block []byte, name string) []byte {
	for i := 1; i < len(block); {
		end := skipText(block, i)
		key := block[i+1 : end-1]
		start := end + 1
		stop := start
		if block[start] == '"' {
			stop = skipText(block, start)
		} else {
			for block[stop] != ',' && block[stop] != '}' {
				stop++
			}
		}
		if string(key) == name {
			return block[start:stop]
		}
		i = stop + 1
	}
	return nil
}

// skipText returns where the text that begins at i ends.
func skipText(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
