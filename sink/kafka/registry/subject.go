package registry

import (
	"encoding/binary"
	"strings"
)

// Strategy names subjects.
type Strategy string

// The strategies, by Confluent's names.
const (
	TopicName       Strategy = "TopicNameStrategy"       // <topic>-key and <topic>-value
	RecordName      Strategy = "RecordNameStrategy"      // the record's full name
	TopicRecordName Strategy = "TopicRecordNameStrategy" // <topic>-<record>
)

// Strategies lists them.
var Strategies = []string{string(TopicName), string(RecordName), string(TopicRecordName)}

// ParseStrategy reads a strategy, also as the name of Confluent's class; ok is false for
// what is none.
func ParseStrategy(text string) (_ Strategy, ok bool) {
	s := Strategy(strings.TrimPrefix(text, "io.confluent.kafka.serializers.subject."))
	return s, s == TopicName || s == RecordName || s == TopicRecordName
}

// Subject returns the subject of a topic's keys or values, whose schema is the record.
func (s Strategy) Subject(topic, record string, key bool) string {
	switch s {
	case RecordName:
		return record
	case TopicRecordName:
		return topic + "-" + record
	}
	if key {
		return topic + "-key"
	}
	return topic + "-value"
}

// Header returns what stands in front of data of a schema: a zero, and its number.
func Header(id int) []byte {
	return binary.BigEndian.AppendUint32([]byte{0}, uint32(id))
}
