package syntax

import "slices"

// statement reads the statement by its first words.
func (p *parser) statement() Statement {
	if p.accept("SET", "STATEMENT") { // MariaDB: SET STATEMENT variable = value, ... FOR ...
		if !p.skipTo("FOR") {
			return nil
		}
		p.next()
	}
	switch {
	case p.words("CREATE"):
		return p.create()
	case p.words("ALTER"):
		return p.alter()
	case p.words("DROP"):
		return p.drop()
	case p.words("RENAME", "TABLE"), p.words("RENAME", "TABLES"):
		return p.renameTable()
	case p.words("TRUNCATE"):
		return p.truncate()
	}
	return p.rowChange()
}

// skipTo goes to a keyword outside of parentheses; false: there is none.
func (p *parser) skipTo(words ...string) bool {
	for {
		t := p.peek()
		switch {
		case t.Kind == End || t.Kind == Broken:
			return false
		case t.isMark('('):
			p.group()
		case slices.ContainsFunc(words, t.is):
			return true
		default:
			p.next()
		}
	}
}

// create tells by the words behind CREATE whether a table, an index or a database is made.
func (p *parser) create() Statement {
	p.next()
	replace := p.accept("OR", "REPLACE")
	temporary := p.accept("TEMPORARY")
	if p.accept("TABLE") {
		return p.createTable(replace, temporary)
	}
	if p.acceptAny("DATABASE", "SCHEMA") {
		return p.createDatabase(replace)
	}
	p.acceptAny("ONLINE", "OFFLINE")
	kind := Index
	switch {
	case p.accept("UNIQUE"):
		kind = UniqueKey
	case p.acceptAny("FULLTEXT", "SPATIAL", "VECTOR"):
		kind = OtherIndex
	}
	if p.accept("INDEX") {
		return p.createIndex(kind, replace)
	}
	return nil // users, views, triggers, procedures, events, sequences, ...
}

func (p *parser) alter() Statement {
	p.next()
	p.acceptAny("ONLINE", "OFFLINE")
	ignore := p.accept("IGNORE")
	switch {
	case p.accept("TABLE"):
		return p.alterTable(ignore)
	case p.acceptAny("DATABASE", "SCHEMA"):
		return p.alterDatabase()
	}
	return nil
}

func (p *parser) drop() Statement {
	p.next()
	temporary := p.accept("TEMPORARY")
	switch {
	case p.acceptAny("TABLE", "TABLES"):
		return p.dropTable(temporary)
	case p.acceptAny("DATABASE", "SCHEMA"):
		ifExists := p.accept("IF", "EXISTS")
		return &DropDatabase{Name: p.name("the name of a database"), IfExists: ifExists}
	}
	p.acceptAny("ONLINE", "OFFLINE")
	if p.accept("INDEX") {
		return p.dropIndex()
	}
	return nil
}

func (p *parser) dropTable(temporary bool) *DropTable {
	s := &DropTable{Temporary: temporary, IfExists: p.accept("IF", "EXISTS")}
	for {
		s.Tables = append(s.Tables, p.table())
		if !p.acceptMark(',') {
			break
		}
	}
	p.lockWait()
	p.acceptAny("RESTRICT", "CASCADE")
	p.end()
	return s
}

// lockWait passes over MariaDB's WAIT n and NOWAIT.
func (p *parser) lockWait() {
	if p.accept("WAIT") {
		p.next()
	}
	p.accept("NOWAIT")
}

func (p *parser) renameTable() *RenameTable {
	p.next()
	p.next()
	s := &RenameTable{IfExists: p.accept("IF", "EXISTS")}
	for {
		from := p.table()
		p.lockWait()
		p.expect("TO")
		s.Renames = append(s.Renames, Rename{From: from, To: p.table()})
		if !p.acceptMark(',') {
			break
		}
	}
	p.end()
	return s
}

func (p *parser) truncate() *TruncateTable {
	p.next()
	p.accept("TABLE")
	s := &TruncateTable{Table: p.table()}
	p.lockWait()
	_ = p.accept("DROP", "STORAGE") || p.accept("REUSE", "STORAGE") // Oracle mode
	p.end()
	return s
}

func (p *parser) createDatabase(replace bool) *CreateDatabase {
	s := &CreateDatabase{OrReplace: replace, IfNotExists: p.accept("IF", "NOT", "EXISTS"), Name: p.name("the name of a database")}
	s.Charset, s.Collation = p.databaseOptions()
	return s
}

func (p *parser) alterDatabase() *AlterDatabase {
	s := &AlterDatabase{}
	if t := p.peek(); t.Kind == Name || t.Kind == Word && !p.databaseOption() {
		s.Name = p.next().Text
	}
	s.Charset, s.Collation = p.databaseOptions()
	return s
}

// databaseOption reports whether an option of ALTER DATABASE is next, and not a name.
func (p *parser) databaseOption() bool {
	return p.words("DEFAULT") || p.words("CHARACTER") || p.words("CHARSET") || p.words("CHAR", "SET") || p.words("COLLATE") ||
		p.words("READ", "ONLY") || p.words("ENCRYPTION") || p.words("COMMENT") && p.peekAt(1).Kind != Word
}

// databaseOptions reads the character set and the collation; other options don't matter.
func (p *parser) databaseOptions() (charset, collation string) {
	for p.peek().Kind != End {
		switch {
		case p.charset():
			charset = p.charsetName()
		case p.accept("COLLATE"):
			p.acceptMark('=')
			collation = p.charsetName()
		case p.peek().Kind == Broken:
			p.fail("an option of the database")
		default:
			p.next()
		}
	}
	return charset, collation
}

// charset passes over the words for CHARACTER SET, with an equals sign.
func (p *parser) charset() bool {
	if !p.accept("CHARACTER", "SET") && !p.accept("CHAR", "SET") && !p.accept("CHARSET") {
		return false
	}
	p.acceptMark('=')
	return true
}

// charsetName reads the name of a character set or of a collation, which may be quoted.
func (p *parser) charsetName() string {
	if p.peek().Kind == Text {
		return p.next().Text
	}
	return p.name("the name of a character set or collation")
}
