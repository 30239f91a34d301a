package ddl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// The types of a TABLE_MAP that come with metadata, by their numbers in the protocol.
const (
	logFloat           = 4
	logDouble          = 5
	logVarchar         = 15
	logBit             = 16
	logTimestamp       = 17
	logDatetime        = 18
	logTime            = 19
	logBlobCompressed  = 140
	logVarCompressed   = 141
	logVector          = 242
	logJSON            = 245
	logDecimal         = 246
	logEnum            = 247
	logSet             = 248
	logBlob            = 252
	logVarString       = 253
	logString          = 254
	logGeometry        = 255
	compressedOverhead = 1 // bytes that a compressed VARCHAR may be longer
)

// logNames are the types without metadata, as column types.
var logNames = map[byte]string{1: "tinyint", 2: "smallint", 3: "int", logFloat: "float", logDouble: "double", 7: "timestamp", 8: "bigint", 9: "mediumint",
	10: "date", 11: "time", 12: "datetime", 13: "year", 14: "date", logTimestamp: "timestamp", logDatetime: "datetime", logTime: "time", logJSON: "json"}

var geometryNames = []string{"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"}

// stringMeta takes the metadata of STRING apart: the real type, and the length in bytes.
func stringMeta(meta uint16) (real byte, length int) {
	real, length = byte(meta>>8), int(meta&0xff)
	if real&0x30 != 0x30 { // two bits of the length are hidden in the type
		length |= int(real&0x30^0x30) << 4
		real |= 0x30
	}
	return real, length
}

// bitMeta returns the width of a BIT.
func bitMeta(meta uint16) int { return int(meta>>8)*8 + int(meta&0xff) }

// logType sets the column type and the character set that a TABLE_MAP says.
func logType(c *value.Definition, m TableMap, i int, o Options) error {
	t, meta := m.Types[i], m.Metas[i]
	cs := m.collationAt(i, o)
	charset := collation.Charset(cs)
	real, length := t, int(meta)
	if t == logString {
		real, length = stringMeta(meta)
	}
	switch real {
	case logVarchar, logVarString, logString, logVarCompressed:
		if real == logVarCompressed {
			length -= compressedOverhead
		}
		name := "varchar"
		if real == logString {
			name = "char"
		}
		if charset == "" {
			charset = "binary"
		}
		c.ColumnType = charType(name, length/collation.MaxLen(charset), charset)
	case logBlob, logBlobCompressed:
		if meta < 1 || int(meta) > len(textLimits) {
			return fmt.Errorf("a BLOB with a length of %d bytes", meta)
		}
		if charset == "" {
			charset = "binary"
		}
		c.ColumnType = textType(textLimits[meta-1].prefix+"text", -1, charset)
	case logEnum, logSet:
		labels, err := m.labelsAt(i, charset)
		if err != nil {
			return err
		}
		c.ColumnType = value.ListType(map[byte]string{logEnum: "enum", logSet: "set"}[real], labels)
	default:
		c.ColumnType = m.plainType(i, o)
	}
	if c.ColumnType == "" {
		return fmt.Errorf("type %d of the log is not known", t)
	}
	if real == logVarCompressed || real == logBlobCompressed {
		c.ColumnType += compressed
	}
	if name, _ := splitType(c.ColumnType); hasCharset(name) {
		c.Charset, c.Collation = resolver{o: o}.visibleCharset(c.ColumnType, charsetPair{charset, cs})
	}
	return nil
}

// plainType returns the types without a character set, empty for one that is not known.
func (m TableMap) plainType(i int, o Options) string {
	t, meta := m.Types[i], m.Metas[i]
	text := logNames[t]
	switch {
	case t == logDecimal:
		text = fmt.Sprintf("decimal(%d,%d)", meta>>8, meta&0xff)
	case t == logBit:
		text = fmt.Sprintf("bit(%d)", bitMeta(meta))
	case (t == logTimestamp || t == logDatetime || t == logTime) && meta > 0:
		text = fmt.Sprintf("%s(%d)", text, meta)
	case t == logGeometry:
		text = "geometry"
		if m.Geometry != nil && m.Geometry[i] < uint64(len(geometryNames)) {
			text = geometryNames[m.Geometry[i]]
		}
	case t == logVector:
		text = "vector(16383)"
		if m.Dimensions != nil {
			text = fmt.Sprintf("vector(%d)", m.Dimensions[i])
		}
	}
	if m.Unsigned != nil && m.Unsigned[i] && text != "" {
		text += " unsigned"
	}
	return text
}

// labelsAt returns the labels of an ENUM or SET in UTF-8.
func (m TableMap) labelsAt(i int, charset string) ([]string, error) {
	if m.Labels == nil || m.Labels[i] == nil {
		return nil, fmt.Errorf("the log does not say the labels")
	}
	out := make([]string, len(m.Labels[i]))
	for n, l := range m.Labels[i] {
		text := []byte(l)
		if charset != "" && charset != "binary" {
			var err error
			if text, err = value.DecodeText(nil, charset, text); err != nil {
				return nil, fmt.Errorf("label %d: %w", n+1, err)
			}
		}
		out[n] = string(text)
	}
	return out, nil
}

// matchColumn says how a column of the log contradicts its definition, empty when it does not.
func matchColumn(c Column, m TableMap, i int, o Options) string {
	if m.Names != nil && !sameName(m.Names[i], c.Name) {
		return fmt.Sprintf("the log calls it %s", m.Names[i])
	}
	if want := matchType(c, m.Types[i], m.Metas[i], o); want != "" {
		return fmt.Sprintf("it is %s, but the log has type %d with metadata %d for it, which is no %s", c.ColumnType, m.Types[i], m.Metas[i], want)
	}
	if m.Nullable != nil && m.Nullable[i] != c.Nullable {
		return "the log disagrees about NOT NULL"
	}
	family := families[takeApart(c.ColumnType).name]
	numeric := family == "integer" && !strings.HasPrefix(c.ColumnType, "year") || family == "float" || family == "decimal"
	if m.Unsigned != nil && numeric && m.Unsigned[i] != strings.Contains(c.ColumnType, " unsigned") {
		return "the log disagrees about UNSIGNED"
	}
	if cs := collation.Charset(m.collationAt(i, o)); cs != "" && cs != "binary" && c.Charset != "" && collation.Canonical(c.Charset) != cs {
		return fmt.Sprintf("the log has the character set %s for it, not %s", cs, c.Charset)
	}
	if labels, err := m.labelsAt(i, collation.Canonical(c.Charset)); err == nil && isList(c.ColumnType) {
		if own := takeApart(c.ColumnType).labels; !slices.Equal(own, labels) {
			return fmt.Sprintf("the log has the labels %q for it, not %q", labels, own)
		}
	}
	return ""
}

// matchType returns what the log should have for a column, empty when it has it.
func matchType(c Column, t byte, meta uint16, o Options) string {
	a := takeApart(c.ColumnType)
	real, length := t, int(meta)
	if t == logString {
		real, length = stringMeta(meta)
	}
	bytes := a.length * collation.MaxLen(c.Charset)
	ok := false
	switch family := families[a.name]; {
	case family == "text" && a.name == "char", a.name == "binary":
		ok = t == logString && real == logString && length == bytes
	case a.name == "varchar" || a.name == "varbinary":
		ok = (t == logVarchar || t == logVarString) && length == bytes || t == logVarCompressed && length == bytes+compressedOverhead
	case family == "text" || family == "bytes":
		ok = (t == logBlob || t == logBlobCompressed) && meta >= 1 && int(meta) <= len(textLimits) && textLimits[meta-1].limit == roomOf(a)
	case a.name == "enum":
		ok = real == logEnum
	case a.name == "set":
		ok = real == logSet
	case a.name == "decimal":
		ok = t == logDecimal && meta == uint16(a.length)<<8|uint16(max(a.scale, 0))
	case a.name == "bit":
		ok = t == logBit && bitMeta(meta) == a.length
	case family == "time" || family == "datetime" || family == "timestamp":
		ok = logNames[t] == a.name && (t < logTimestamp || int(meta) == a.length)
	case isSpatial(a.name):
		ok = t == logGeometry
	case a.name == "vector":
		ok = t == logVector || o.MariaDB && (t == logVarchar || t == logVarString)
	case a.name == "uuid" || a.name == "inet6" || a.name == "inet4":
		ok = t == logString && length == fixedWidths[a.name]
	default:
		ok = logNames[t] == a.name
	}
	if ok {
		return ""
	}
	return a.name
}
