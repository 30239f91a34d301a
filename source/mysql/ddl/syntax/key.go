package syntax

// key reads a key, a foreign key or a check; false: something else comes. A check
// is a Key of no kind.
func (p *parser) key() (Key, bool) {
	k := Key{}
	constraint := p.accept("CONSTRAINT")
	if constraint && !p.words("PRIMARY") && !p.words("UNIQUE") && !p.words("FOREIGN", "KEY") && !p.words("CHECK") {
		if k.IfNotExists = p.accept("IF", "NOT", "EXISTS"); k.IfNotExists || p.peek().isName() {
			k.Symbol = p.name("the name of a constraint")
		}
	}
	switch {
	case p.accept("PRIMARY"):
		p.expect("KEY")
		k.Kind = PrimaryKey
	case p.accept("UNIQUE"):
		p.acceptAny("KEY", "INDEX")
		k.Kind = UniqueKey
	case p.accept("FOREIGN", "KEY"):
		return p.foreignKey(k), true
	case p.accept("CHECK"):
		p.check()
		return Key{}, true
	case constraint:
		p.fail("PRIMARY KEY, UNIQUE, FOREIGN KEY or CHECK")
	case p.acceptAny("FULLTEXT", "SPATIAL"):
		p.acceptAny("KEY", "INDEX")
		k.Kind = OtherIndex
	case p.vectorIndex():
		p.next()
		p.acceptAny("KEY", "INDEX")
		k.Kind = OtherIndex
	case p.acceptAny("KEY", "INDEX"):
		k.Kind = Index
	default:
		return Key{}, false
	}
	k.IfNotExists = p.accept("IF", "NOT", "EXISTS") || k.IfNotExists
	if p.peek().isName() && !p.algorithmAhead() {
		k.Name = p.name("the name of a key")
	}
	p.keyParts(&k)
	return k, true
}

// vectorIndex tells an index from a column that is called vector.
func (p *parser) vectorIndex() bool {
	if !p.words("VECTOR") {
		return false
	}
	column := func(n int) bool { return p.peekAt(n).isMark('(') && p.peekAt(n+1).isName() }
	return p.words("VECTOR", "INDEX") || p.words("VECTOR", "KEY") || column(1) || p.peekAt(1).isName() && column(2)
}

// keyParts reads the algorithm, the parts and the options.
func (p *parser) keyParts(k *Key) {
	p.algorithm(k)
	p.expectMark('(')
	for {
		k.Parts = append(k.Parts, p.keyPart())
		if !p.acceptMark(',') {
			break
		}
	}
	p.expectMark(')')
	for p.keyOption(k) {
	}
}

func (p *parser) algorithm(k *Key) bool {
	if !p.algorithmAhead() {
		return false
	}
	p.next()
	k.Hash = p.next().is("HASH")
	return true
}

// algorithmAhead tells USING BTREE from a key that is called type.
func (p *parser) algorithmAhead() bool {
	t := p.peekAt(1)
	return (p.words("USING") || p.words("TYPE")) && (t.is("BTREE") || t.is("HASH") || t.is("RTREE"))
}

func (p *parser) keyPart() KeyPart {
	part := KeyPart{}
	if p.peek().isMark('(') {
		p.group()
	} else {
		part.Column = p.name("the name of a column")
		if p.acceptMark('(') {
			part.Prefix = p.number()
			p.expectMark(')')
		}
		part.WithoutOverlaps = p.accept("WITHOUT", "OVERLAPS")
	}
	if part.Descending = p.accept("DESC"); !part.Descending {
		p.accept("ASC")
	}
	return part
}

func (p *parser) keyOption(k *Key) bool {
	switch {
	case p.algorithm(k):
	case p.acceptAny("VISIBLE", "INVISIBLE", "IGNORED"), p.accept("NOT", "IGNORED"):
	case p.accept("COMMENT"):
		p.acceptMark('=')
		p.text()
	case p.accept("WITH", "PARSER"):
		p.name("the name of a parser")
	case p.words("KEY_BLOCK_SIZE"), p.words("ENGINE_ATTRIBUTE"), p.words("SECONDARY_ENGINE_ATTRIBUTE"), p.words("CLUSTERING"),
		p.peek().isName() && p.peekAt(1).isMark('=') && !p.words("ALGORITHM") && !p.words("LOCK"):
		p.next()
		if p.acceptMark('=') || p.peek().Kind == Text || p.peek().Kind == Number {
			p.optionValue()
		}
	default:
		return false
	}
	return true
}

// foreignKey reads a foreign key behind FOREIGN KEY; the server makes an index for it.
func (p *parser) foreignKey(k Key) Key {
	k.Kind = ForeignKey
	k.IfNotExists = p.accept("IF", "NOT", "EXISTS") || k.IfNotExists
	if p.peek().isName() {
		k.Name = p.name("the name of a key")
	}
	p.keyParts(&k)
	p.expect("REFERENCES")
	p.foreignTable()
	return k
}

// foreignTable reads what follows REFERENCES.
func (p *parser) foreignTable() {
	p.otherTable()
	if p.peek().isMark('(') {
		p.group()
	}
	for {
		switch {
		case p.accept("MATCH"):
			p.next()
		case p.accept("ON", "DELETE"), p.accept("ON", "UPDATE"):
			if !p.accept("SET", "NULL") && !p.accept("SET", "DEFAULT") && !p.accept("NO", "ACTION") && !p.acceptAny("RESTRICT", "CASCADE") {
				p.fail("an action")
			}
		default:
			return
		}
	}
}
