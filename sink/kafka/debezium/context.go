package debezium

// Context is where messages come from.
type Context struct {
	// Task is the number of the task, Run names this run of it.
	Task, Run string
}

// headers are Debezium's, in its order.
func (c *Context) headers(o *Options) []headerSpan {
	text := func(s string) []byte { return appendString(nil, s) }
	return []headerSpan{
		{key: "__debezium.context.connectorLogicalName", fixed: text(o.Prefix)},
		{key: "__debezium.context.taskId", fixed: text(c.Task)},
		{key: "__debezium.context.connectorName", fixed: text(string(o.Connector))},
		{key: "__debezium.context.runId", fixed: text(c.Run)},
	}
}
