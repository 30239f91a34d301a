package syntax

import (
	"strconv"
	"strings"
)

// column reads a column's name and definition, and the keys that it declares.
func (p *parser) column() (Column, []Key) {
	c := Column{Name: p.columnName()}
	keys := p.definition(&c)
	return c, keys
}

// columnName reads the name of a column, maybe with its table's before it.
func (p *parser) columnName() string {
	name := p.name("the name of a column")
	for p.acceptMark('.') {
		name = p.name("the name of a column")
	}
	return name
}

// definition reads what follows the name of a column.
func (p *parser) definition(c *Column) []Key {
	c.Type = p.dataType()
	var keys []Key
	if c.Type.Name == "serial" {
		c.NotNull, c.AutoIncrement = true, true
		keys = append(keys, c.key(UniqueKey))
	}
	for p.attribute(c, &keys) {
	}
	return keys
}

func (c *Column) key(kind KeyKind) Key {
	return Key{Kind: kind, Parts: []KeyPart{{Column: c.Name}}, Inline: true}
}

// attribute reads one attribute of a column; false: there is no further one.
func (p *parser) attribute(c *Column, keys *[]Key) bool {
	switch {
	case p.accept("NOT", "NULL"):
		c.NotNull, c.Null = true, false
	case p.accept("NULL"):
		c.Null, c.NotNull = true, false
	case p.accept("DEFAULT"):
		p.defaultValue(c)
	case p.accept("ON", "UPDATE"):
		p.next()
		if p.peek().isMark('(') {
			p.group()
		}
	case p.accept("AUTO_INCREMENT"):
		c.AutoIncrement, c.NotNull = true, true
	case p.accept("SERIAL", "DEFAULT", "VALUE"):
		c.AutoIncrement, c.NotNull = true, true
		*keys = append(*keys, c.key(UniqueKey))
	case p.accept("PRIMARY"):
		p.accept("KEY")
		*keys = append(*keys, c.key(PrimaryKey))
	case p.accept("KEY"):
		*keys = append(*keys, c.key(PrimaryKey))
	case p.accept("UNIQUE"):
		p.accept("KEY")
		*keys = append(*keys, c.key(UniqueKey))
	case p.accept("COMMENT"):
		c.Comment = p.text()
	case p.accept("COLLATE"):
		p.acceptMark('=')
		c.Type.Collation = p.charsetName()
	case p.accept("REFERENCES"):
		p.foreignTable()
		*keys = append(*keys, c.key(ForeignKey))
	case p.words("GENERATED"), p.words("AS"):
		p.generated(c)
	default:
		return p.furtherAttribute(c)
	}
	return true
}

// furtherAttribute reads the attributes that only one of the two servers knows, or
// that change nothing.
func (p *parser) furtherAttribute(c *Column) bool {
	switch {
	case p.accept("CONSTRAINT"):
		if !p.words("CHECK") && !p.words("REFERENCES") {
			p.name("the name of a constraint")
		}
		if !p.words("CHECK") && !p.words("REFERENCES") {
			p.fail("CHECK or REFERENCES")
		}
	case p.accept("CHECK"):
		p.check()
	case p.accept("INVISIBLE"):
		c.Invisible = true
	case p.accept("VISIBLE"):
	case p.accept("VIRTUAL"):
		c.Generated = "VIRTUAL"
	case p.acceptAny("STORED", "PERSISTENT"):
		c.Generated = "STORED"
	case p.accept("SRID"), p.accept("REF_SYSTEM_ID"):
		p.acceptMark('=')
		n, err := strconv.ParseUint(p.peek().Text, 10, 32)
		if err != nil {
			p.fail("the number of a spatial reference system")
		}
		p.next()
		id := uint32(n)
		c.SRID = &id
	case p.accept("COMPRESSED"):
		if c.Compressed = true; p.acceptMark('=') {
			p.next()
		}
	case p.accept("COLUMN_FORMAT"), p.accept("STORAGE"):
		p.next()
	case p.accept("ENGINE_ATTRIBUTE"), p.accept("SECONDARY_ENGINE_ATTRIBUTE"):
		p.acceptMark('=')
		p.text()
	case p.accept("NOT", "SECONDARY"):
	case p.accept("WITH", "SYSTEM", "VERSIONING"):
		c.Versioned = true
	case p.accept("WITHOUT", "SYSTEM", "VERSIONING"):
	case p.peek().isName() && p.peekAt(1).isMark('='): // an option of MariaDB's engines
		p.next()
		p.next()
		p.optionValue()
	default:
		return p.typeAttribute(c)
	}
	return true
}

// typeAttribute reads an attribute of the type that comes late.
func (p *parser) typeAttribute(c *Column) bool {
	at := p.at
	p.typeAttributes(&c.Type)
	return p.at > at
}

func (p *parser) check() {
	p.group()
	if !p.accept("NOT", "ENFORCED") {
		p.accept("ENFORCED")
	}
}

// generated reads [GENERATED ALWAYS] AS (expression) or ROW START, ROW END.
func (p *parser) generated(c *Column) {
	p.accept("GENERATED")
	p.accept("ALWAYS")
	p.expect("AS")
	switch {
	case p.accept("ROW", "START"):
		c.RowStart = true
	case p.accept("ROW", "END"):
		c.RowEnd = true
	default:
		c.Expression = p.group()
		if c.Generated == "" {
			c.Generated = "VIRTUAL"
		}
		return
	}
	c.NotNull = true
}

// defaultValue reads the value of DEFAULT.
func (p *parser) defaultValue(c *Column) {
	start := p.peek().Pos
	c.Default, c.DefaultNull, c.DefaultIsExpression = nil, false, false
	set := func(text string, expression bool) { c.Default, c.DefaultIsExpression = &text, expression }
	switch t := p.peek(); {
	case t.isMark('('):
		set(p.group(), true)
	case p.accept("NULL"):
		c.DefaultNull = true
	case p.accept("TRUE"):
		set("1", false)
	case p.accept("FALSE"):
		set("0", false)
	case t.Kind == Text:
		set(p.text(), false)
	case t.Kind == Number:
		p.next()
		set(t.Text, false)
	case t.isMark('-') || t.isMark('+'):
		p.next()
		if p.peek().Kind != Number {
			p.fail("a number")
		}
		sign := strings.TrimPrefix(t.Text, "+")
		set(sign+p.next().Text, false)
	case (t.is("DATE") || t.is("TIME") || t.is("TIMESTAMP")) && p.peekAt(1).Kind == Text:
		p.next()
		set(p.text(), false)
	default:
		p.call()
		set(p.lexer.sql[start:p.tokens[p.at-1].End], true)
	}
}

// call passes over a function call, or what else MariaDB takes as a default
// without parentheses: a name, CASE ... END, NEXT VALUE FOR a sequence.
func (p *parser) call() {
	if p.accept("CASE") {
		if !p.skipTo("END") {
			p.fail("END")
		}
		p.next()
		return
	}
	if p.acceptAny("NEXT", "PREVIOUS") {
		p.expect("VALUE")
		p.expect("FOR")
		p.otherTable()
		return
	}
	p.name("a default value")
	for p.acceptMark('.') {
		p.name("a name")
	}
	if p.peek().isMark('(') {
		p.group()
	}
}
