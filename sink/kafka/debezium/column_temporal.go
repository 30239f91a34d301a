package debezium

import "github.com/freshet-cdc/freshet/schema"

// temporal maps dates, times and timestamps by time.precision.mode.
func (o *Options) temporal(t schema.Type) (mapping, bool) {
	switch t.Kind {
	case schema.KindDate:
		return o.date(), true
	case schema.KindTime:
		return o.time(t.Precision), true
	case schema.KindTimestamp:
		return o.timestamp(t.Precision), true
	case schema.KindTimestampLTZ:
		return o.zoned(t.Precision), true
	case schema.KindTimestampTZ:
		return o.text(named("string", "io.debezium.time.ZonedTimestamp")), true
	case schema.KindTimeTZ:
		return converted(named("string", "io.debezium.time.ZonedTime"), `"00:00:00Z"`, zonedTime), true
	}
	return mapping{}, false
}

func (o *Options) date() mapping {
	switch o.Time {
	case TimeISOString:
		return mapping{connectType: named("string", "io.debezium.time.IsoDate"), cell: &isoDateCell{}, zero: `"1970-01-01Z"`}
	case TimeConnect:
		return mapping{connectType: named("int32", "org.apache.kafka.connect.data.Date"), cell: &integerCell[int32]{}, zero: "0"}
	}
	return mapping{connectType: named("int32", "io.debezium.time.Date"), cell: &integerCell[int32]{}, zero: "0"}
}

// timeUnit is a logical type that counts units of so many nanoseconds.
type timeUnit struct {
	typ, name string
	nanos     int64
}

// time maps a time of day, which a batch has in microseconds.
func (o *Options) time(precision int) mapping {
	if o.Time == TimeISOString {
		return mapping{connectType: named("string", "io.debezium.time.IsoTime"), cell: &isoCell{form: form{clock: true, digits: -1, unit: nanosPerMicro}}, zero: `"00:00:00Z"`}
	}
	u := o.timeUnit(precision)
	return mapping{connectType: named(u.typ, u.name), cell: &epochCell{per: per(nanosPerMicro, u.nanos), nanos: true}, zero: "0"}
}

func (o *Options) timeUnit(precision int) timeUnit {
	switch o.Time {
	case TimeConnect:
		return timeUnit{"int32", "org.apache.kafka.connect.data.Time", nanosPerMicro * microsPerMilli}
	case TimeNanoseconds:
		return timeUnit{"int64", "io.debezium.time.NanoTime", 1}
	case TimeAdaptive:
		if precision <= 3 {
			return timeUnit{"int32", "io.debezium.time.Time", nanosPerMicro * microsPerMilli}
		}
	}
	return timeUnit{"int64", "io.debezium.time.MicroTime", nanosPerMicro}
}

// per says how a number of units becomes one of other units, see epochCell.
func per(have, want int64) int64 {
	if have > want {
		return -(have / want)
	}
	return want / have
}

// unitOf is the number of nanoseconds that a batch's timestamps count.
func unitOf(precision int) int64 {
	if precision > 6 {
		return 1
	}
	return nanosPerMicro
}

func (o *Options) timestamp(precision int) mapping {
	unit := unitOf(precision)
	if o.Time == TimeISOString {
		f := form{date: true, clock: true, digits: -1, unit: unit, infinite: true}
		return mapping{connectType: named("string", "io.debezium.time.IsoTimestamp"), cell: &isoCell{form: f}, zero: `"1970-01-01T00:00:00Z"`}
	}
	u := timeUnit{"int64", "io.debezium.time.MicroTimestamp", nanosPerMicro}
	switch {
	case o.Time == TimeConnect:
		u = timeUnit{"int64", "org.apache.kafka.connect.data.Timestamp", nanosPerMicro * microsPerMilli}
	case o.Time == TimeNanoseconds, o.Time != TimeMicroseconds && precision > 6:
		u = timeUnit{"int64", "io.debezium.time.NanoTimestamp", 1}
	case o.Time != TimeMicroseconds && precision <= 3:
		u = timeUnit{"int64", "io.debezium.time.Timestamp", nanosPerMicro * microsPerMilli}
	}
	return mapping{connectType: named(u.typ, u.name), cell: &epochCell{per: per(unit, u.nanos), nanos: unit == 1 || u.nanos == 1}, zero: "0"}
}

// zoned maps an instant. It has as many digits as the column declares, but for a read of
// MySQL's, which has no zeros at the end.
func (o *Options) zoned(precision int) mapping {
	f := form{date: true, clock: true, digits: -1, unit: unitOf(precision), infinite: true}
	if o.Connector == PostgreSQL {
		f.digits = precision
	}
	zero, _ := f.append(nil, 0)
	m := mapping{connectType: named("string", "io.debezium.time.ZonedTimestamp"), cell: &isoCell{form: f}, zero: string(zero)}
	if o.Connector != PostgreSQL {
		live := f
		live.digits = precision
		m.cell = &changedCell{read: m.cell, change: &isoCell{form: live}, changed: &o.changed}
	}
	return m
}
