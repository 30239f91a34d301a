package definition

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/freshet-cdc/freshet/schema"
)

// ErrSyntax is wrapped by every definition that can't be read.
var ErrSyntax = errors.New("the definition can't be read")

// Tables are definitions by name.
type Tables struct {
	named map[schema.TableID]*schema.Table
	other *schema.Table
}

// For returns the definition of a table, or nil.
func (t *Tables) For(id schema.TableID) *schema.Table {
	if t == nil {
		return nil
	}
	if def := t.named[id]; def != nil {
		return def
	}
	return t.other
}

// Named returns the definitions that name their table, in no order.
func (t *Tables) Named() (out []*schema.Table) {
	if t == nil {
		return nil
	}
	for _, def := range t.named {
		out = append(out, def)
	}
	return out
}

// Parse reads definitions; text may be empty.
func Parse(text string) (*Tables, error) {
	p := &parser{text: text}
	out := &Tables{named: map[schema.TableID]*schema.Table{}}
	for p.next(); p.token != ""; {
		if p.accept(";") {
			continue
		}
		def := p.table()
		if p.err != nil {
			return nil, p.err
		}
		switch {
		case def.ID.IsZero() && out.other != nil, out.named[def.ID] != nil:
			return nil, fmt.Errorf("%w: %q is defined twice", ErrSyntax, def.ID)
		case def.ID.IsZero():
			out.other = def
		default:
			out.named[def.ID] = def
		}
		if p.token != "" && !p.accept(";") {
			return nil, p.fail("a semicolon")
		}
	}
	return out, p.err
}

// parser stands at one token at a time. A quoted name is a token that begins with `.
type parser struct {
	text  string
	pos   int
	token string
	depth int
	err   error
}

func (p *parser) fail(want string) error {
	if p.err == nil {
		p.err = fmt.Errorf("%w: at character %d, %.40q, there should be %s", ErrSyntax, p.pos-len(p.token), p.token, want)
	}
	p.token = ""
	return p.err
}

// next reads a token.
func (p *parser) next() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	if p.token = ""; p.pos == len(p.text) || p.err != nil {
		return
	}
	start := p.pos
	r, size := utf8.DecodeRuneInString(p.text[p.pos:])
	p.pos += size
	switch {
	case r == '`':
		end := strings.IndexByte(p.text[p.pos:], '`')
		if end < 1 {
			p.fail("a name and a ` behind it")
			return
		}
		p.pos += end + 1
		p.token = p.text[start : p.pos-1]
		return
	case word(r):
		for p.pos < len(p.text) {
			r, size := utf8.DecodeRuneInString(p.text[p.pos:])
			if !word(r) {
				break
			}
			p.pos += size
		}
	}
	p.token = p.text[start:p.pos]
}

func word(r rune) bool {
	return r == '_' || r == '$' || r == '-' || unicode.IsLetter(r) && r != utf8.RuneError || unicode.IsDigit(r)
}

// accept passes over a token, in any case of letters.
func (p *parser) accept(token string) bool {
	if p.err != nil || !strings.EqualFold(p.token, token) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(token string) {
	if !p.accept(token) {
		p.fail(token)
	}
}

func (p *parser) name() string {
	r, _ := utf8.DecodeRuneInString(p.token)
	if p.token == "" || r != '`' && !word(r) {
		p.fail("a name")
		return ""
	}
	out := strings.TrimPrefix(p.token, "`")
	p.next()
	return out
}

// table reads [name] (columns, PRIMARY KEY (names)).
func (p *parser) table() *schema.Table {
	def := &schema.Table{Version: 1}
	if p.token != "(" {
		parts := []string{p.name()}
		for p.accept(".") {
			parts = append(parts, p.name())
		}
		switch len(parts) {
		case 1:
			def.ID = schema.TableID{Table: parts[0]}
		case 2:
			def.ID = schema.TableID{Schema: parts[0], Table: parts[1]}
		case 3:
			def.ID = schema.TableID{Namespace: parts[0], Schema: parts[1], Table: parts[2]}
		default:
			p.fail("at most three parts")
		}
	}
	p.expect("(")
	for p.err == nil {
		if strings.EqualFold(p.token, "PRIMARY") && p.peekKey() {
			p.primaryKey(def)
		} else {
			def.Columns = append(def.Columns, p.column())
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	p.check(def)
	return def
}

// peekKey says that KEY comes next, so that a column may be called primary.
func (p *parser) peekKey() bool {
	rest := strings.TrimLeft(p.text[p.pos:], " \t\r\n")
	return len(rest) > 3 && strings.EqualFold(rest[:3], "KEY")
}

func (p *parser) primaryKey(def *schema.Table) {
	p.next()
	p.expect("KEY")
	p.expect("(")
	for p.err == nil {
		def.PrimaryKey = append(def.PrimaryKey, p.name())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	if p.accept("NOT") {
		p.expect("ENFORCED")
	}
}

// check looks at the names once all columns are there.
func (p *parser) check(def *schema.Table) {
	if p.err != nil {
		return
	}
	seen := map[string]bool{}
	for _, c := range def.Columns {
		if seen[c.Name] {
			p.err = fmt.Errorf("%w: column %s is there twice", ErrSyntax, c.Name)
		}
		seen[c.Name] = true
	}
	for _, name := range def.PrimaryKey {
		_, i := def.Column(name)
		if i < 0 {
			p.err = fmt.Errorf("%w: the PRIMARY KEY names %s, which is no column", ErrSyntax, name)
			return
		}
		def.Columns[i].Nullable = false
	}
}

func (p *parser) column() schema.Column {
	c := schema.Column{Name: p.name(), Source: schema.SourceType{Length: -1, Scale: -1, Modifier: -1}}
	c.Type = p.typ()
	c.Nullable = true
	if p.accept("NOT") {
		p.expect("NULL")
		c.Nullable = false
	} else {
		p.accept("NULL")
	}
	return c
}

// maxDepth is how deep types may be nested.
const maxDepth = 64

var plainTypes = map[string]schema.Type{
	"BOOLEAN": schema.Boolean(), "TINYINT": schema.TinyInt(), "SMALLINT": schema.SmallInt(), "INT": schema.Int(), "INTEGER": schema.Int(), "FLOAT": schema.Float(),
	"STRING": schema.String(), "BYTES": schema.Bytes(), "DATE": schema.Date(), "NUMERIC": schema.Numeric(), "INTERVAL": schema.Interval(), "UUID": schema.UUID(), "JSON": schema.JSON(),
}

func (p *parser) typ() schema.Type {
	if p.depth++; p.depth > maxDepth {
		p.fail("types that are nested less deep")
	}
	defer func() { p.depth-- }()
	name := strings.ToUpper(p.name())
	if t, ok := plainTypes[name]; ok {
		return t
	}
	switch name {
	case "BIGINT":
		if p.accept("UNSIGNED") {
			return schema.UBigInt()
		}
		return schema.BigInt()
	case "DOUBLE":
		p.accept("PRECISION")
		return schema.Double()
	case "CHAR":
		return schema.Char(p.number(1, 1, 1<<30))
	case "VARCHAR":
		return schema.Varchar(p.number(1, 1, 1<<30))
	case "BINARY":
		return schema.Binary(p.number(1, 1, 1<<30))
	case "VARBINARY":
		return schema.Varbinary(p.number(1, 1, 1<<30))
	case "DECIMAL", "DEC":
		return p.decimal()
	case "TIME":
		n := p.number(0, 0, 6)
		if p.zone() {
			return schema.TimeTZ(n)
		}
		return schema.Time(n)
	case "TIMESTAMP_LTZ":
		return schema.TimestampLTZ(p.number(6, 0, 9))
	case "TIMESTAMP":
		n := p.number(6, 0, 9)
		if p.zone() {
			return schema.TimestampTZ(n)
		}
		return schema.Timestamp(n)
	}
	return p.nested(name)
}

func (p *parser) nested(name string) schema.Type {
	switch name {
	case "ARRAY":
		p.expect("<")
		elem := p.typ()
		p.expect(">")
		return schema.Array(elem)
	case "MAP":
		p.expect("<")
		key := p.typ()
		p.expect(",")
		elem := p.typ()
		p.expect(">")
		return schema.Map(key, elem)
	case "ROW":
		p.expect("<")
		var fields []schema.Column
		for p.err == nil {
			fields = append(fields, p.column())
			if !p.accept(",") {
				break
			}
		}
		p.expect(">")
		return schema.Row(fields...)
	}
	if p.err == nil {
		p.err = fmt.Errorf("%w: there is no type %.40q", ErrSyntax, name)
	}
	return schema.Type{}
}

// zone reads WITH TIME ZONE and WITHOUT TIME ZONE.
func (p *parser) zone() bool {
	with := p.accept("WITH")
	if with || p.accept("WITHOUT") {
		p.expect("TIME")
		p.expect("ZONE")
	}
	return with
}

// number reads a number in brackets, def where there is none.
func (p *parser) number(def, low, high int) int {
	if !p.accept("(") {
		return def
	}
	n := p.digits(low, high)
	p.expect(")")
	return n
}

func (p *parser) digits(low, high int) int {
	n, err := strconv.Atoi(p.token)
	if err != nil || n < low || n > high {
		p.fail(fmt.Sprintf("a number from %d to %d", low, high))
		return low
	}
	p.next()
	return n
}

func (p *parser) decimal() schema.Type {
	precision, scale := 10, 0
	if p.accept("(") {
		precision = p.digits(1, 76)
		if p.accept(",") {
			scale = p.digits(0, precision)
		}
		p.expect(")")
	}
	return schema.Decimal(precision, scale)
}
