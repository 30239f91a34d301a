package syntax

// rowChange reads the tables that a statement changes rows of, nil when it is
// another statement. It is generous: a table that UPDATE only reads may be among them.
func (p *parser) rowChange() Statement {
	if p.acceptMark('(') {
		return nil // a query
	}
	if p.accept("WITH") && !p.skipTo("UPDATE", "DELETE") {
		return nil
	}
	verb := p.peek()
	switch {
	case p.acceptAny("INSERT", "REPLACE"):
		p.modifiers("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO")
		if !p.peek().isName() {
			return nil
		}
		p.table()
	case p.accept("LOAD"):
		if !p.skipTo("TABLE") {
			return nil
		}
		p.next()
		if !p.peek().isName() {
			return nil
		}
		p.table()
	case p.accept("UPDATE"):
		p.modifiers("LOW_PRIORITY", "IGNORE")
		p.references("SET")
	case p.accept("DELETE"):
		p.modifiers("LOW_PRIORITY", "QUICK", "IGNORE", "HISTORY", "FROM")
		p.references("FROM", "USING", "WHERE", "ORDER", "LIMIT", "RETURNING", "BEFORE")
		if p.acceptAny("FROM", "USING") { // what the targets are aliases of
			p.references("WHERE", "ORDER", "LIMIT")
		}
	default:
		return nil
	}
	return &RowChange{Verb: verb.Text, Tables: p.tables}
}

func (p *parser) modifiers(words ...string) {
	for p.acceptAny(words...) {
	}
}

// reference reads name, database.name, name.* or database.name.*.
func (p *parser) reference() TableName {
	t := TableName{Table: p.next().Text}
	for p.acceptMark('.') {
		if p.acceptMark('*') || !p.peek().isName() {
			break
		}
		t.Database, t.Table = t.Table, p.next().Text
	}
	return t
}

// references takes every name up to one of the words for that of a table.
func (p *parser) references(until ...string) {
	for {
		t := p.peek()
		switch {
		case t.Kind == End || t.Kind == Broken:
			return
		case t.isName():
			for _, w := range until {
				if t.is(w) {
					return
				}
			}
			p.tables = append(p.tables, p.reference())
		default:
			p.next()
		}
	}
}
