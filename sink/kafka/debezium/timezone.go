package debezium

import (
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/freshet-cdc/freshet/sink/kafka/javatext"

	"github.com/freshet-cdc/freshet/schema"
)

// convertZone makes a column's values those of Options.Timezone.
func (o *Options) convertZone(c schema.Column, m *mapping) {
	if o.Timezone == nil || o.ZonedColumn != nil && !o.ZonedColumn(c) {
		return
	}
	switch m.name {
	case "io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp":
		m.cell = &localCell{cell: m.cell, zone: o.Timezone, second: 1e3}
	case "io.debezium.time.MicroTimestamp":
		m.cell = &localCell{cell: m.cell, zone: o.Timezone, second: 1e6}
	case "io.debezium.time.NanoTimestamp":
		m.cell = &localCell{cell: m.cell, zone: o.Timezone, second: 1e9}
	case "io.debezium.time.ZonedTimestamp":
		m.cell = &zonedCell{cell: m.cell, zone: o.Timezone}
	}
}

// localCell makes instants of local times that a cell counts as if they were UTC.
type localCell struct {
	cell
	zone   *time.Location
	second int64 // its units
}

func (c *localCell) append(dst []byte, i int) ([]byte, error) {
	start := len(dst)
	dst, err := c.cell.append(dst, i)
	if err != nil {
		return dst, err
	}
	n, err := strconv.ParseInt(string(dst[start:]), 10, 64)
	if err != nil {
		return dst, ErrText
	}
	seconds := javatext.FloorDiv(n, c.second)
	t := time.Unix(seconds, 0).UTC()
	local := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, c.zone)
	return strconv.AppendInt(dst[:start], n+(local.Unix()-seconds)*c.second, 10), nil
}

// zonedCell prints times with a zone in another one.
type zonedCell struct {
	cell
	zone *time.Location
}

func (c *zonedCell) bind(col arrow.Array) { c.cell.bind(col) }

func (c *zonedCell) append(dst []byte, i int) ([]byte, error) {
	start := len(dst)
	dst, err := c.cell.append(dst, i)
	if err != nil {
		return dst, err
	}
	t, err := time.Parse(`"2006-01-02T15:04:05.999999999Z07:00"`, string(dst[start:]))
	if err != nil { // years that RFC 3339 does not have
		return dst, ErrRange
	}
	return t.In(c.zone).AppendFormat(dst[:start], `"2006-01-02T15:04:05.999999999Z07:00"`), nil
}
