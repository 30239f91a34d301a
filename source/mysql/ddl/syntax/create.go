package syntax

// createTable reads a CREATE TABLE behind these words.
func (p *parser) createTable(replace, temporary bool) *CreateTable {
	s := &CreateTable{OrReplace: replace, Temporary: temporary, IfNotExists: p.accept("IF", "NOT", "EXISTS"), Table: p.table()}
	p.lockWait()
	if p.accept("LIKE") {
		like := p.otherTable()
		s.Like = &like
		p.end()
		return s
	}
	if p.peek().isMark('(') && p.peekAt(1).is("LIKE") {
		p.next()
		p.next()
		like := p.otherTable()
		s.Like = &like
		p.expectMark(')')
		p.end()
		return s
	}
	if p.peek().isMark('(') && !p.query(1) {
		p.next()
		p.elements(&s.Elements)
		p.expectMark(')')
	}
	p.tableOptions(&s.Options)
	if p.words("PARTITION", "BY") {
		p.skipTo("IGNORE", "REPLACE", "AS", "SELECT", "TABLE", "VALUES", "WITH")
	}
	_ = p.acceptAny("IGNORE", "REPLACE")
	s.Query = p.accept("AS") || p.query(0)
	if !s.Query {
		p.end()
	}
	return s
}

// query reports whether a query begins n tokens ahead, maybe in parentheses.
func (p *parser) query(n int) bool {
	for p.peekAt(n).isMark('(') {
		n++
	}
	t := p.peekAt(n)
	return t.is("SELECT") || t.is("WITH") || t.is("VALUES") && p.peekAt(n+1).isMark('(') ||
		t.is("VALUES") && p.peekAt(n+1).is("ROW") || t.is("TABLE") && p.peekAt(n+1).isName()
}

// elements reads columns and keys, separated by commas.
func (p *parser) elements(e *Elements) {
	for {
		p.element(e)
		if !p.acceptMark(',') {
			return
		}
	}
}

func (p *parser) element(e *Elements) {
	if key, ok := p.key(); ok {
		if key.Kind != 0 {
			e.Keys = append(e.Keys, key)
		}
		return
	}
	if p.accept("PERIOD", "FOR") {
		e.Periods = append(e.Periods, p.period())
		return
	}
	c, keys := p.column()
	e.Columns = append(e.Columns, c)
	e.Keys = append(e.Keys, keys...)
}

// period reads what follows PERIOD FOR: name (a, b).
func (p *parser) period() Period {
	out := Period{Name: p.name("the name of a period")}
	p.expectMark('(')
	out.Start = p.name("the name of a column")
	p.expectMark(',')
	out.End = p.name("the name of a column")
	p.expectMark(')')
	return out
}
