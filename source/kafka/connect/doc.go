// Package connect reads rows that Kafka Connect and Debezium wrote, in JSON with or without
// its schema and in Avro, into columns.
//
//	s, err := connect.ParseJSON(schemaText) // or connect.ParseAvro
//	columns, err := s.Columns()
//	err = s.ReadJSON(&scanner, column)
//
// A [Schema] is Connect's: a type and a name that gives it a meaning (io.debezium.time.Date).
// An Avro schema becomes one as well, so that both forms share the mapping of types, which is:
//
//	Decimal                            DECIMAL(p, s); DECIMAL(38, s) where no precision is told
//	VariableScaleDecimal               NUMERIC
//	Date, IsoDate                      DATE
//	Time, MicroTime, NanoTime, IsoTime TIME
//	Timestamp, MicroTimestamp, ...     TIMESTAMP(3), (6), (9)
//	ZonedTimestamp                     TIMESTAMP_LTZ(6)
//	ZonedTime                          TIME WITH TIME ZONE
//	MicroDuration, Interval            INTERVAL
//	Json, Uuid, Year                   JSON, UUID, INT
//	Bits                               BYTES, the least significant byte first
//
// and for others that of their bare type: a struct is a ROW.
package connect
