package value

// Options say what becomes of values that have more than one form. The zero value
// carries everything as it is, zero dates as NULL.
type Options struct {
	// TinyInt1IsBool makes TINYINT(1), which BOOL is another name of, a BOOLEAN: every
	// value but 0 is true. Flink CDC's treat-tinyint1-as-boolean.enabled, there on by default.
	TinyInt1IsBool bool
	// ZeroDates is what becomes of dates that do not exist.
	ZeroDates ZeroDates
	// Time is the type of TIME columns.
	Time TimeMode
	// LegacyJSON prints JSON without blanks behind ',' and ':', Flink CDC's
	// use.legacy.json.format, in the snapshot as well as from the binlog. Otherwise
	// it is printed as the server does.
	LegacyJSON bool
	// GeometryBytes makes geometries bytes as the server keeps them, the SRID in four bytes,
	// the lowest first, and well-known binary; otherwise they are GeoJSON.
	GeometryBytes bool
	// MariaDB: the server is MariaDB, which knows JSON as another name of LONGTEXT.
	MariaDB bool
}

// ZeroDates is what becomes of a DATE, DATETIME or TIMESTAMP that names no day:
// 0000-00-00, 2024-00-15, 2024-02-31. The year 0 is a year.
type ZeroDates uint8

const (
	// ZeroDateNull makes them NULL, also in columns that are declared NOT NULL: the
	// type stays as declared, for such values are rare where the server's sql_mode is
	// what it is by default. In a key a NULL is an error.
	ZeroDateNull ZeroDates = iota
	// ZeroDateEpoch makes them 1970-01-01 00:00:00.
	ZeroDateEpoch
	// ZeroDateError makes them an error.
	ZeroDateError
)

// TimeMode is what TIME columns become. MySQL's TIME goes from -838:59:59 to
// 838:59:59, a time of day does not; a column has one type, so the choice is for all of them.
type TimeMode uint8

const (
	// TimeOfDay is schema.KindTime; a negative value and one from 24:00:00 on is an error.
	TimeOfDay TimeMode = iota
	// TimeOrNull is schema.KindTime, other values become NULL.
	TimeOrNull
	// TimeText is schema.KindString, the server's text: -838:59:59.000.
	TimeText
)
