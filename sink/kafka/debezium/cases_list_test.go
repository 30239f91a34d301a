package debezium_test

// different are the cases whose messages differ on purpose: Debezium loses or garbles
// a value there, or stops, and ours are right.
var different = map[string]string{
	"mysql/types-int-tinyint1-converter":    "every value but 0 is true, as at the server",
	"mysql/types-enum-set":                  "labels are not escaped, and keep what lies above U+FFFF",
	"mysql/columns-defaults":                "0x00ff is two bytes, a quote in a default one quote",
	"mysql/columns-defaults-keep-null":      "0x00ff is two bytes, a quote in a default one quote",
	"mysql/types-string":                    "a default in another character set is its text, not hexadecimal digits of it",
	"mysql/types-float":                     "a FLOAT is the stored number in the snapshot too, not six digits of it",
	"mysql/types-json":                      "a number in JSON is the server's text in the stream too",
	"mysql/types-json-partial":              "updates that come as diffs are not lost",
	"mysql/types-time-zero-dates":           "YEAR 0000 is 0; the year 0 is a year",
	"mysql/types-time-adaptive-micros":      "YEAR 0000 is 0",
	"mysql/types-time-isostring":            "a TIME that is no time of day is an error",
	"mysql/types-time-nanoseconds":          "a time outside 64 bits of nanoseconds is an error",
	"mysql/types-decimal-zerofill-full":     "Debezium stops, we don't",
	"mysql/smt-flatten":                     "a tombstone is one with schemas too, else topics can't be compacted",
	"postgres/smt-flatten":                  "a tombstone is one with schemas too, else topics can't be compacted",
	"postgres/column-propagate":             "a numeric without a precision has no length in the stream either",
	"mysql/row-image-full-noblob-error":     "the error comes from the source, with its own text",
	"postgres/columns-defaults":             "a default with a quote in it is not cut",
	"postgres/types-string":                 "a default with a quote in it is not cut; the type name is not lost",
	"postgres/types-array":                  "bit[] and NULL in enum[] are kept",
	"postgres/types-array-multi":            "arrays of several dimensions are kept",
	"postgres/types-numeric-nan-precise":    "NaN is an error",
	"postgres/types-numeric-negative-scale": "the scale is -2",
	"postgres/types-time-infinity-bc":       "dates before Christ are days of the proleptic calendar in the snapshot too",
	"postgres/types-time-isostring":         "24:00:00 is not 00:00:00",
	"postgres/columns-generated":            "a generated column that the log does not carry is not in the snapshot alone",
	"postgres/types-domain-over-enum-error": "Debezium stops, we don't",
}

// open are the cases for which a source does not deliver yet what the message needs.
var open = map[string]string{
	"postgres/schema-change":      "a table that is created while the pipeline runs is captured after a restart",
	"postgres/partitioned-leaves": "where a row stands in the snapshot of a partition is not known",
	"postgres/types-postgis":      "PostGIS is not on every machine",
}
