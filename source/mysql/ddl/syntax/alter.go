package syntax

// alterTable reads an ALTER TABLE behind these words.
func (p *parser) alterTable(ignore bool) *AlterTable {
	s := &AlterTable{Ignore: ignore, IfExists: p.accept("IF", "EXISTS"), Table: p.table()}
	p.lockWait()
	for p.peek().Kind != End {
		p.part(s)
		// The clauses about partitions follow without a comma.
		if !p.acceptMark(',') && !p.words("PARTITION", "BY") && !p.words("REMOVE", "PARTITIONING") {
			break
		}
	}
	p.end()
	return s
}

func (s *AlterTable) add(part AlterPart) { s.Parts = append(s.Parts, part) }

// part reads one part.
func (p *parser) part(s *AlterTable) {
	switch {
	case p.accept("ADD"):
		p.addPart(s)
	case p.accept("DROP"):
		p.dropPart(s)
	case p.words("MODIFY"), p.words("CHANGE"):
		p.changePart(s, p.next().is("CHANGE"))
	case p.accept("ALTER"):
		p.alterPart(s)
	case p.accept("RENAME"):
		p.renamePart(s)
	case p.accept("CONVERT"):
		p.convertPart(s)
	case p.accept("ORDER", "BY"):
		for {
			p.columnName()
			p.acceptAny("ASC", "DESC")
			if !p.acceptMark(',') {
				break
			}
		}
	case p.partitionPart(s), p.plainPart(s):
	default:
		o := AlterPart{Kind: SetOptions}
		if !p.tableOptions(&o.Options) {
			p.fail("a part of ALTER TABLE")
		}
		s.add(o)
	}
}

// plainPart reads the parts that say how and not what.
func (p *parser) plainPart(s *AlterTable) bool {
	switch {
	case p.accept("ALGORITHM"), p.accept("LOCK"):
		p.acceptMark('=')
		p.optionValue()
	case p.acceptAny("FORCE", "ENABLE", "DISABLE"):
		p.accept("KEYS")
	case p.accept("WITH", "VALIDATION"), p.accept("WITHOUT", "VALIDATION"), p.acceptAny("SECONDARY_LOAD", "SECONDARY_UNLOAD"):
	default:
		return false
	}
	return true
}

// addPart reads what follows ADD.
func (p *parser) addPart(s *AlterTable) {
	switch {
	case p.words("PARTITION"):
		p.rest()
		return
	case p.accept("SYSTEM", "VERSIONING"):
		s.add(AlterPart{Kind: AddVersioning})
		return
	case p.words("PERIOD", "FOR"), p.words("PERIOD", "IF"):
		p.next()
		ifNotExists := p.accept("IF", "NOT", "EXISTS")
		p.expect("FOR")
		s.add(AlterPart{Kind: AddPeriod, Period: p.period(), IfExists: ifNotExists})
		return
	}
	if key, ok := p.key(); ok {
		if key.Kind != 0 {
			s.add(AlterPart{Kind: AddKey, Key: key, IfExists: key.IfNotExists})
		}
		return
	}
	p.accept("COLUMN")
	ifNotExists := p.accept("IF", "NOT", "EXISTS")
	if p.acceptMark('(') {
		var e Elements
		p.elements(&e)
		p.expectMark(')')
		for _, c := range e.Columns {
			s.add(AlterPart{Kind: AddColumn, Column: c, IfExists: ifNotExists})
		}
		s.addKeys(e.Keys, ifNotExists)
		return
	}
	c, keys := p.column()
	s.add(AlterPart{Kind: AddColumn, Column: c, Place: p.place(), IfExists: ifNotExists})
	s.addKeys(keys, ifNotExists)
}

// addKeys adds the keys that a column declares, which take over its IF EXISTS.
func (s *AlterTable) addKeys(keys []Key, ifNotExists bool) {
	for _, k := range keys {
		s.add(AlterPart{Kind: AddKey, Key: k, IfExists: k.IfNotExists || ifNotExists})
	}
}

// place reads FIRST or AFTER.
func (p *parser) place() Place {
	switch {
	case p.accept("FIRST"):
		return Place{First: true}
	case p.accept("AFTER"):
		return Place{After: p.name("the name of a column")}
	}
	return Place{}
}

// dropPart reads what follows DROP.
func (p *parser) dropPart(s *AlterTable) {
	part := AlterPart{}
	named := func(kind AlterKind) {
		part.Kind, part.IfExists = kind, p.accept("IF", "EXISTS")
		part.Name = p.name("a name")
	}
	switch {
	case p.accept("PRIMARY", "KEY"):
		part.Kind = DropPrimaryKey
	case p.accept("FOREIGN", "KEY"):
		p.accept("IF", "EXISTS")
		p.name("the name of a foreign key")
		return
	case p.acceptAny("KEY", "INDEX"):
		named(DropKey)
	case p.accept("CONSTRAINT"):
		named(DropConstraint)
	case p.accept("CHECK"):
		p.name("the name of a check")
		return
	case p.words("PARTITION"):
		p.next()
		part = AlterPart{Kind: DropPartition, Name: p.rest()}
	case p.accept("SYSTEM", "VERSIONING"):
		part.Kind = DropVersioning
	case p.words("PERIOD", "FOR"), p.words("PERIOD", "IF", "EXISTS", "FOR"):
		p.next()
		part.IfExists = p.accept("IF", "EXISTS")
		p.next()
		part.Kind, part.Name = DropPeriod, p.name("the name of a period")
	default:
		p.accept("COLUMN")
		named(DropColumn)
		p.acceptAny("RESTRICT", "CASCADE")
	}
	s.add(part)
}

// changePart reads what follows MODIFY or CHANGE.
func (p *parser) changePart(s *AlterTable, change bool) {
	p.accept("COLUMN")
	part := AlterPart{Kind: ModifyColumn, IfExists: p.accept("IF", "EXISTS")}
	if change {
		part.Kind, part.Name = ChangeColumn, p.columnName()
	}
	c, keys := p.column()
	if !change {
		part.Name = c.Name
	}
	part.Column, part.Place = c, p.place()
	s.add(part)
	s.addKeys(keys, part.IfExists)
}

// alterPart reads what follows ALTER.
func (p *parser) alterPart(s *AlterTable) {
	if p.accept("CONSTRAINT") || p.accept("CHECK") || p.acceptAny("INDEX", "KEY") {
		p.accept("IF", "EXISTS")
		p.name("a name")
		_ = p.accept("NOT") // ENFORCED, IGNORED
		p.next()
		return
	}
	p.accept("COLUMN")
	part := AlterPart{IfExists: p.accept("IF", "EXISTS")}
	part.Name = p.columnName()
	switch {
	case p.accept("SET", "DEFAULT"):
		part.Kind = SetDefault
		p.defaultValue(&part.Column)
	case p.accept("DROP", "DEFAULT"):
		part.Kind = SetDefault
	case p.accept("SET", "VISIBLE"):
		part.Kind = SetVisible
	case p.accept("SET", "INVISIBLE"):
		part.Kind = SetInvisible
	default:
		p.fail("SET or DROP")
	}
	s.add(part)
}

// renamePart reads what follows RENAME.
func (p *parser) renamePart(s *AlterTable) {
	part := AlterPart{}
	switch {
	case p.words("COLUMN"), p.words("INDEX"), p.words("KEY"):
		if part.Kind = RenameKey; p.next().is("COLUMN") {
			part.Kind = RenameColumn
		}
		part.IfExists = p.accept("IF", "EXISTS")
		part.Name = p.name("a name")
		p.expect("TO")
		part.NewName = p.name("a name")
	default:
		_ = p.acceptAny("TO", "AS") || p.acceptMark('=')
		part.Kind, part.Table = RenameTo, p.table()
	}
	s.add(part)
}

// convertPart reads what follows CONVERT.
func (p *parser) convertPart(s *AlterTable) {
	part := AlterPart{}
	switch {
	case p.accept("PARTITION"):
		part.Kind, part.Name = PartitionToTable, p.name("the name of a partition")
		p.expect("TO")
		p.expect("TABLE")
		part.Table = p.table()
	case p.accept("TABLE"):
		part.Kind, part.Table = TableToPartition, p.table()
		p.expect("TO")
		p.expect("PARTITION")
		part.Name = p.name("the name of a partition")
		if p.accept("VALUES") {
			p.skipTo("WITH", "WITHOUT")
		}
	default:
		p.expect("TO")
		if !p.charset() {
			p.fail("CHARACTER SET")
		}
		part.Kind, part.Options.Charset = ConvertCharset, p.charsetName()
		if p.accept("COLLATE") {
			p.acceptMark('=')
			part.Options.Collation = p.charsetName()
		}
	}
	s.add(part)
	_ = p.accept("WITH", "VALIDATION") || p.accept("WITHOUT", "VALIDATION")
}
