package event

import (
	"fmt"
	"slices"
)

// Metadata is the optional part of a TABLE_MAP. With binlog_row_metadata=MINIMAL
// only the signs, the character sets of columns and the types of geometries are
// there, with FULL everything. All slices are by column, or nil where the event
// does not say.
type Metadata struct {
	// Unsigned is set for numbers that are UNSIGNED. It can be nil for a table that
	// has a YEAR, where versions of the server differ about what they write.
	Unsigned []bool
	// Collations has the number of each collation, 0 for columns without one. The
	// ones of ENUM and SET come with FULL alone.
	Collations []uint16
	Names      []string
	// Labels are those of ENUM and SET, in the column's character set.
	Labels [][]string
	// Geometry is the kind of each geometry: 0 GEOMETRY, 1 POINT, ...
	Geometry []uint64
	// Dimensions is the length of each VECTOR.
	Dimensions []uint64
	// Visible is false for INVISIBLE columns.
	Visible []bool
	// PrimaryKey are indexes of columns, in the order of the key. Prefixes, if not
	// nil, has how many characters of each belong to it, 0 for all.
	PrimaryKey []int
	Prefixes   []uint64
}

// The fields of the optional metadata.
const (
	metaSignedness            = 1
	metaDefaultCharset        = 2
	metaColumnCharset         = 3
	metaColumnName            = 4
	metaSetLabels             = 5
	metaEnumLabels            = 6
	metaGeometryType          = 7
	metaSimplePrimaryKey      = 8
	metaPrimaryKeyWithPrefix  = 9
	metaEnumSetDefaultCharset = 10
	metaEnumSetColumnCharset  = 11
	metaColumnVisibility      = 12
	metaVectorDimensionality  = 13
)

// Metadata reads the optional part. It allocates; a table's TABLE_MAPs are alike
// and need it once.
func (e *TableMap) Metadata() (*Metadata, error) {
	m := &metadataReader{table: e, out: &Metadata{}}
	r := reader{p: e.Optional}
	for r.left() > 0 {
		kind := r.u8()
		v := reader{p: r.packedBytes()}
		if r.bad {
			return nil, corrupt(TableMapType, "cut optional metadata")
		}
		m.field(kind, &v)
		if v.bad {
			return nil, corrupt(TableMapType, fmt.Sprintf("optional metadata of kind %d", kind))
		}
	}
	return m.out, nil
}

type metadataReader struct {
	table *TableMap
	out   *Metadata
}

func (m *metadataReader) field(kind byte, r *reader) {
	switch kind {
	case metaSignedness:
		m.signs(r)
	case metaDefaultCharset:
		m.defaultCharset(r, m.isCharacter)
	case metaColumnCharset:
		m.columnCharset(r, m.isCharacter)
	case metaEnumSetDefaultCharset:
		m.defaultCharset(r, isEnumOrSet)
	case metaEnumSetColumnCharset:
		m.columnCharset(r, isEnumOrSet)
	case metaColumnName:
		m.out.Names = make([]string, 0, len(m.table.Types))
		for range m.table.Types {
			m.out.Names = append(m.out.Names, string(r.packedBytes()))
		}
	case metaSetLabels:
		m.labels(r, columnSet)
	case metaEnumLabels:
		m.labels(r, columnEnum)
	case metaGeometryType:
		m.out.Geometry = m.numbers(r, columnGeometry)
	case metaVectorDimensionality:
		m.out.Dimensions = m.numbers(r, columnVector)
	case metaSimplePrimaryKey:
		for r.left() > 0 {
			m.keyColumn(r)
		}
	case metaPrimaryKeyWithPrefix:
		for r.left() > 0 {
			m.keyColumn(r)
			m.out.Prefixes = append(m.out.Prefixes, r.packed())
		}
	case metaColumnVisibility:
		m.out.Visible = m.bits(r, func(byte) bool { return true })
	}
	// Later servers may add more kinds; what they say was not needed so far.
}

// realType returns the type of column i; ENUM and SET are written as STRING.
func (m *metadataReader) realType(i int) byte {
	t := m.table.Types[i]
	if t == columnString {
		if real := byte(m.table.Metas[i] >> 8); real == columnEnum || real == columnSet {
			return real
		}
	}
	return t
}

// isNumber reports whether the type has a sign.
func isNumber(t byte) bool {
	switch t {
	case 0, 1, 2, 3, columnFloat, columnDouble, 8, 9, columnNewDecimal: // DECIMAL, TINY to LONG, LONGLONG, INT24
		return true
	}
	return false
}

func isNumberOrYear(t byte) bool { return isNumber(t) || t == columnYear }

// isCharacter reports whether the type has a collation in the event, ENUM and SET
// apart: MySQL counts a VECTOR, MariaDB a geometry as the blob that it is built on.
func (m *metadataReader) isCharacter(t byte) bool {
	switch t {
	case columnVector:
		return true
	case columnGeometry:
		return m.table.mariadb
	case columnString, columnVarString, columnVarchar, columnTinyBlob, columnMediumBlob, columnLongBlob, columnBlob,
		columnMariaBlobCompress, columnMariaVarCompress:
		return true
	}
	return false
}

func isEnumOrSet(t byte) bool { return t == columnEnum || t == columnSet }

// bits reads a bitmap, the highest bit first, with a bit for each column that has is for.
func (m *metadataReader) bits(r *reader, has func(t byte) bool) []bool {
	out := make([]bool, len(m.table.Types))
	n := 0
	for i := range out {
		if !has(m.realType(i)) {
			continue
		}
		if n/8 >= len(r.p) {
			r.bad = true
			return nil
		}
		out[i] = r.p[n/8]>>(7-n%8)&1 != 0
		n++
	}
	return out
}

// signs reads the bits of the numbers. MySQL 9.7 and MariaDB give a YEAR a bit as
// well, MySQL 8.0.15 does not, and the event does not say which it is: where both
// readings fit and disagree about a number, the signs stay unknown.
func (m *metadataReader) signs(r *reader) {
	older, newer := *r, *r
	without := m.bits(&older, isNumber)
	with := m.bits(&newer, isNumberOrYear)
	for i := range with {
		with[i] = with[i] && isNumber(m.realType(i))
	}
	switch {
	case older.bad:
		r.bad = true
	case newer.bad || m.bitmapSize(isNumberOrYear) > len(r.p):
		m.out.Unsigned = without
	case m.bitmapSize(isNumber) < len(r.p) || slices.Equal(with, without):
		m.out.Unsigned = with
	}
}

// bitmapSize is the number of bytes that bits reads.
func (m *metadataReader) bitmapSize(has func(t byte) bool) int {
	n := 0
	for i := range m.table.Types {
		if has(m.realType(i)) {
			n++
		}
	}
	return (n + 7) / 8
}

// numbers reads a number for each column of type t.
func (m *metadataReader) numbers(r *reader, t byte) []uint64 {
	out := make([]uint64, len(m.table.Types))
	for i := range out {
		if m.realType(i) == t {
			out[i] = r.packed()
		}
	}
	return out
}

// defaultCharset reads the collation of most columns, then pairs for the others;
// the pairs count only columns that has is for.
func (m *metadataReader) defaultCharset(r *reader, has func(t byte) bool) {
	columns := m.columns(has)
	common := m.collation(r)
	for _, c := range columns {
		m.collate(c, common)
	}
	for r.left() > 0 {
		i := r.packed()
		if i >= uint64(len(columns)) {
			r.bad = true
			return
		}
		m.collate(columns[i], m.collation(r))
	}
}

// columnCharset reads a collation for each column that has is for.
func (m *metadataReader) columnCharset(r *reader, has func(t byte) bool) {
	for _, c := range m.columns(has) {
		m.collate(c, m.collation(r))
	}
}

// collate keeps a collation, unless the column is of a type that has none.
func (m *metadataReader) collate(column int, n uint16) {
	if t := m.table.Types[column]; t != columnVector && t != columnGeometry {
		m.out.Collations[column] = n
	}
}

func (m *metadataReader) collation(r *reader) uint16 {
	n := r.packed()
	if n > 1<<16-1 {
		r.bad = true
	}
	return uint16(n)
}

// columns returns the indexes of the columns that has is for.
func (m *metadataReader) columns(has func(t byte) bool) []int {
	if m.out.Collations == nil {
		m.out.Collations = make([]uint16, len(m.table.Types))
	}
	var out []int
	for i := range m.table.Types {
		if has(m.realType(i)) {
			out = append(out, i)
		}
	}
	return out
}

// labels reads a count and that many labels for each column of type t.
func (m *metadataReader) labels(r *reader, t byte) {
	if m.out.Labels == nil {
		m.out.Labels = make([][]string, len(m.table.Types))
	}
	for i := range m.table.Types {
		if m.realType(i) != t {
			continue
		}
		n := r.packed()
		if n > uint64(r.left()) {
			r.bad = true
			return
		}
		list := make([]string, n)
		for j := range list {
			list[j] = string(r.packedBytes())
		}
		m.out.Labels[i] = list
	}
}

func (m *metadataReader) keyColumn(r *reader) {
	i := r.packed()
	if i >= uint64(len(m.table.Types)) {
		r.bad = true
		return
	}
	m.out.PrimaryKey = append(m.out.PrimaryKey, int(i))
}
