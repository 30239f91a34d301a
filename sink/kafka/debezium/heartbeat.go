package debezium

import "strconv"

// Heartbeats writes the messages that say that a pipeline is there.
type Heartbeats struct {
	key            []byte
	valueOpen, end []byte
	headers        []headerSpan
}

// NewHeartbeats returns a writer for a pipeline's options.
func NewHeartbeats(o Options) (*Heartbeats, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	h := &Heartbeats{}
	if o.Context != nil {
		h.headers = o.Context.headers(&o)
	}
	payload := append(appendString([]byte(`{"serverName":`), o.Prefix), '}')
	if !o.Schemas {
		h.key = payload
		return h, nil
	}
	key := named("struct", "io.debezium.connector.common.ServerNameKey")
	key.fields = []connectField{{"serverName", plain("string")}}
	value := named("struct", "io.debezium.connector.common.Heartbeat")
	value.fields = []connectField{{"ts_ms", plain("int64")}}
	h.key = append(append(append(key.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...), payload...), '}')
	h.valueOpen = append(value.appendSchema([]byte(`{"schema":`), ""), `,"payload":`...)
	h.end = []byte{'}'}
	return h, nil
}

// Append appends a heartbeat; millis is its time.
func (h *Heartbeats) Append(out *Output, millis int64) {
	start := len(out.Data)
	dst := append(out.Data, h.key...)
	key := span{start, len(dst)}
	dst = strconv.AppendInt(append(append(dst, h.valueOpen...), `{"ts_ms":`...), millis, 10)
	out.Data = append(append(dst, '}'), h.end...)
	headers := span{len(out.headers), len(out.headers) + len(h.headers)}
	out.headers = append(out.headers, h.headers...)
	out.Messages = append(out.Messages, Message{key: key, value: span{key.end, len(out.Data)}, headers: headers, Row: -1})
}
