// Package value knows the types of MySQL and MariaDB: what a column becomes, and how
// its values get into an Arrow builder, from the cells of the binlog and from the text
// of a SELECT, with the same result.
//
//	c, err := value.Column(value.Definition{Name: "price", ColumnType: "decimal(12,2)"}, opts)
//	b := array.NewBuilder(mem, c.Type.Arrow())
//
//	read, err := value.NewCellReader(c, value.CellType{Type: 246, Meta: 12<<8 | 2}, b, opts) // TABLE_MAP
//	n, err := read(row) // appends one value, n bytes are done with
//
//	sql := "SELECT " + value.SelectExpression(c) + " FROM t"
//	text, err := value.NewTextReader(c, b, opts)
//	err = text([]byte("12.50"))
//
// # Types
//
// Integers are those that hold all values: TINYINT UNSIGNED is SMALLINT, INT UNSIGNED
// is BIGINT, BIGINT UNSIGNED is itself, which sinks without it carry as DECIMAL(20, 0).
// TINYINT(1) is BOOLEAN by option, BIT(1) always; BIT(n) is BINARY in little-endian.
// FLOAT(m,d) is a DOUBLE of exactly the stored float. DECIMAL goes to 65 digits.
// DATETIME is TIMESTAMP, TIMESTAMP is TIMESTAMP_LTZ; what TIME and dates that do not
// exist become is said by [Options]. YEAR is INT, 0000 is 0.
// BINARY(n) has n bytes. ENUM and SET are their labels, a SET's with commas between them.
// JSON is the server's text. Geometries are GeoJSON with an srid, VECTOR is ARRAY<FLOAT>,
// MariaDB's UUID is UUID, its INET4 and INET6 are text.
//
// Text in any character set of the servers becomes UTF-8; bytes without a meaning
// there are an error, never a replacement character.
package value
