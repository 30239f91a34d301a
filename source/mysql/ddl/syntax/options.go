package syntax

import "slices"

// tableOptions reads options of a table as long as there are any; true: there was one.
func (p *parser) tableOptions(o *TableOptions) bool {
	found := false
	for p.tableOption(o) {
		found = true
		if p.peek().isMark(',') && p.optionAhead(1) {
			p.next()
		}
	}
	return found
}

// optionNames are the options that have a value which is one token; further ones,
// which MariaDB's engines define, are known by their equals sign.
var optionNames = []string{"AUTOEXTEND_SIZE", "AUTO_INCREMENT", "AVG_ROW_LENGTH", "CHECKSUM", "COMPRESSION", "CONNECTION", "DELAY_KEY_WRITE",
	"ENCRYPTION", "ENGINE_ATTRIBUTE", "IETF_QUOTES", "INSERT_METHOD", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PAGE_CHECKSUM", "PASSWORD",
	"ROW_FORMAT", "SECONDARY_ENGINE", "SECONDARY_ENGINE_ATTRIBUTE", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES",
	"TABLE_CHECKSUM", "TABLESPACE", "TRANSACTIONAL", "TYPE"}

// optionAhead reports whether an option of a table begins n tokens ahead.
func (p *parser) optionAhead(n int) bool {
	t := p.peekAt(n)
	switch {
	case t.is("DEFAULT"):
		return p.optionAhead(n + 1)
	case t.is("ENGINE"), t.is("COMMENT"), t.is("CHARSET"), t.is("COLLATE"), t.is("UNION"), t.is("STORAGE"), t.is("DATA"):
		return true
	case t.is("CHARACTER"), t.is("CHAR"):
		return p.peekAt(n + 1).is("SET")
	case t.is("INDEX"):
		return p.peekAt(n + 1).is("DIRECTORY")
	case t.is("WITH"):
		return p.peekAt(n + 1).is("SYSTEM")
	case t.is("START"):
		return p.peekAt(n + 1).is("TRANSACTION")
	}
	return slices.ContainsFunc(optionNames, t.is) || t.isName() && p.peekAt(n+1).isMark('=')
}

func (p *parser) tableOption(o *TableOptions) bool {
	if !p.optionAhead(0) {
		return false
	}
	p.accept("DEFAULT")
	switch {
	case p.charset():
		o.Charset = p.charsetName()
	case p.accept("COLLATE"):
		p.acceptMark('=')
		o.Collation = p.charsetName()
	case p.accept("COMMENT"):
		p.acceptMark('=')
		text := p.text()
		o.Comment = &text
	case p.accept("ENGINE"), p.accept("TYPE"):
		p.acceptMark('=')
		o.Engine = p.optionValue()
	case p.accept("WITH", "SYSTEM", "VERSIONING"):
		o.SystemVersioning = true
	case p.accept("START", "TRANSACTION"):
	case p.accept("DATA", "DIRECTORY"), p.accept("INDEX", "DIRECTORY"):
		p.acceptMark('=')
		p.text()
	case p.accept("UNION"):
		p.acceptMark('=')
		p.group()
	case p.accept("SEQUENCE"):
		p.acceptMark('=')
		o.Sequence = p.optionValue() != "0"
	default:
		p.next()
		p.acceptMark('=')
		p.optionValue()
	}
	return true
}

// optionValue reads one word, name, number or string.
func (p *parser) optionValue() string {
	p.acceptMark('-')
	if t := p.peek(); t.Kind == End || t.Kind == Mark || t.Kind == Broken {
		p.fail("the value of an option")
	}
	if p.peek().Kind == Text {
		return p.text()
	}
	return p.next().Text
}
