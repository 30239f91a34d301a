package syntax

import "strings"

// partitionPart reads a part about partitions or tablespaces; false: it is another.
func (p *parser) partitionPart(s *AlterTable) bool {
	switch {
	case p.accept("TRUNCATE", "PARTITION"):
		s.add(AlterPart{Kind: TruncatePartition, Name: p.rest()})
	case p.accept("EXCHANGE", "PARTITION"):
		part := AlterPart{Kind: ExchangePartition, Name: p.name("the name of a partition")}
		p.expect("WITH")
		p.expect("TABLE")
		part.Table = p.table()
		_ = p.accept("WITH", "VALIDATION") || p.accept("WITHOUT", "VALIDATION")
		s.add(part)
	case p.words("DISCARD"), p.words("IMPORT"):
		part := AlterPart{Kind: ImportTablespace}
		if p.next().is("DISCARD") {
			part.Kind = DiscardTablespace
		}
		part.Name = strings.TrimSpace(strings.TrimPrefix(p.rest(), "PARTITION"))
		if strings.EqualFold(part.Name, "TABLESPACE") {
			part.Name = ""
		}
		s.add(part)
	case p.words("PARTITION", "BY"), p.words("REORGANIZE", "PARTITION"), p.words("COALESCE", "PARTITION"), p.words("REBUILD", "PARTITION"),
		p.words("ANALYZE", "PARTITION"), p.words("CHECK", "PARTITION"), p.words("OPTIMIZE", "PARTITION"), p.words("REPAIR", "PARTITION"):
		p.rest() // no row is lost
	case p.accept("REMOVE", "PARTITIONING"), p.accept("UPGRADE", "PARTITIONING"):
	default:
		return false
	}
	return true
}

// rest passes over all that is left and returns its text.
func (p *parser) rest() string {
	start := p.peek().Pos
	for p.peek().Kind != End {
		if p.peek().Kind == Broken {
			p.fail("the end of a string")
		}
		p.next()
	}
	return strings.TrimSpace(p.lexer.sql[start:p.peek().Pos])
}
