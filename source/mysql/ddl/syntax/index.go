package syntax

// createIndex reads a CREATE INDEX behind these words.
func (p *parser) createIndex(kind KeyKind, replace bool) *AlterTable {
	k := Key{Kind: kind, OrReplace: replace, IfNotExists: p.accept("IF", "NOT", "EXISTS"), Name: p.name("the name of an index")}
	p.algorithm(&k)
	p.expect("ON")
	s := &AlterTable{Table: p.table()}
	p.lockWait()
	p.keyParts(&k)
	p.online()
	s.add(AlterPart{Kind: AddKey, Key: k, IfExists: k.IfNotExists})
	return s
}

// dropIndex reads a DROP INDEX behind these words.
func (p *parser) dropIndex() *AlterTable {
	part := AlterPart{Kind: DropKey, IfExists: p.accept("IF", "EXISTS"), Name: p.name("the name of an index")}
	p.expect("ON")
	s := &AlterTable{Table: p.table()}
	p.lockWait()
	p.online()
	s.add(part)
	return s
}

// online passes over ALGORITHM and LOCK.
func (p *parser) online() {
	for p.acceptAny("ALGORITHM", "LOCK") {
		p.acceptMark('=')
		p.optionValue()
	}
	p.end()
}
