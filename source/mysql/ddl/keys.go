package ddl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/syntax"
)

// primaryName is the name of every primary key.
const primaryName = "PRIMARY"

// errDiffers is wrapped where a statement that the server executed can't have
// been executed on the table as the catalogue has it.
var errDiffers = errors.New("the table is not as the catalogue has it")

// newKey is a key that a statement declares, or one that was there.
type newKey struct {
	Key
	declared syntax.Key // of no kind for one that was there
}

// prefix returns the prefix of a part as written, which may be the whole column.
func (k newKey) prefix(i int) int {
	if k.declared.Kind != 0 {
		return k.declared.Parts[i].Prefix
	}
	return k.Parts[i].Prefix
}

// setKeys gives d the keys in old, which have names, and those that a statement declares.
func (r resolver) setKeys(d *Definition, old []Key, declared []syntax.Key) error {
	keys := make([]newKey, 0, len(old)+len(declared))
	for _, k := range old {
		k.Hash = r.o.MariaDB && k.Unique && !k.Primary && d.needsHash(k)
		keys = append(keys, newKey{Key: k})
	}
	for _, k := range declared {
		if k.Kind == syntax.ForeignKey && k.Inline && !r.inlineForeignKeys() {
			continue // parsed and ignored
		}
		key, err := r.declare(d, k)
		if err != nil {
			return err
		}
		key.Hash = r.o.MariaDB && key.Unique && !key.Primary && (k.Hash || d.needsHash(key))
		keys = append(keys, newKey{Key: key, declared: k})
	}
	d.Keys = nil
	superfluous := superfluousKeys(keys)
	for i, k := range keys {
		if superfluous[i] {
			continue
		}
		if k.declared.Kind != 0 {
			d.nameKey(&k.Key, k.declared)
		}
		if err := d.addKey(k.Key); err != nil {
			return err
		}
	}
	d.sortKeys()
	return nil
}

// inlineForeignKeys reports whether REFERENCES behind a column makes a foreign key.
func (r resolver) inlineForeignKeys() bool {
	if r.o.MariaDB {
		return r.o.Version >= 100500
	}
	return r.o.Version >= 90000
}

// addKey appends a key. The columns of a primary key are NOT NULL.
func (d *Definition) addKey(k Key) error {
	if d.keyNamed(k.Name) >= 0 {
		return fmt.Errorf("%w: it has a key %q already", errDiffers, k.Name)
	}
	if k.Primary {
		for _, p := range k.Parts {
			d.Columns[d.column(p.Column)].Nullable = false
		}
	}
	d.Keys = append(d.Keys, k)
	return nil
}

// declare makes a key without a name as declared. A part that is an expression makes a hidden column.
func (r resolver) declare(d *Definition, k syntax.Key) (Key, error) {
	key := Key{Name: k.Name, Primary: k.Kind == syntax.PrimaryKey, Unique: k.Kind == syntax.UniqueKey || k.Kind == syntax.PrimaryKey,
		Other: k.Kind == syntax.OtherIndex, Generated: k.Kind == syntax.ForeignKey}
	for _, p := range k.Parts {
		switch {
		case p.WithoutOverlaps:
			key.Parts = append(key.Parts, KeyPart{})
		case p.Column == "" && key.Primary:
			return key, fmt.Errorf("%w: a primary key is of columns", errDiffers)
		case p.Column == "":
			d.LastOrdinal++
			hidden := Column{Hidden: true, Ordinal: d.LastOrdinal}
			hidden.Name, hidden.ColumnType, hidden.Nullable, hidden.Generated = fmt.Sprintf("!%d", d.LastOrdinal), "bigint", true, "VIRTUAL"
			d.Columns = append(d.Columns, hidden)
			key.Parts = append(key.Parts, KeyPart{Column: hidden.Name})
		default:
			at := d.column(p.Column)
			if at < 0 {
				return key, fmt.Errorf("%w: it has no column %q", errDiffers, p.Column)
			}
			key.Parts = append(key.Parts, KeyPart{Column: d.Columns[at].Name, Prefix: wholePrefix(d.Columns[at], p.Prefix), Descending: p.Descending && !r.o.MariaDB})
		}
	}
	return key, nil
}

// wholePrefix returns the prefix of a key's part, or 0 when it is the whole column.
func wholePrefix(c Column, prefix int) int {
	name, length := splitType(c.ColumnType)
	if !hasPrefix(name) || prefix >= length && (name == "char" || name == "varchar" || name == "binary" || name == "varbinary") {
		return 0
	}
	return prefix
}

// superfluousKeys finds the keys for foreign keys that another key makes needless:
// one that begins with the same columns. Of two with the same columns the later stays.
func superfluousKeys(keys []newKey) []bool {
	out := make([]bool, len(keys))
	for i := range keys {
		for j := range i {
			if out[j] || !covered(keys[i], keys[j]) {
				continue
			}
			if !keys[j].Generated || keys[i].Generated && len(keys[i].Parts) < len(keys[j].Parts) {
				out[i] = true
			} else {
				out[j] = true
			}
			break
		}
	}
	return out
}

// covered reports whether one of two keys is for a foreign key and the other begins with its columns.
func covered(a, b newKey) bool {
	if a.Generated && b.Generated && len(a.Parts) > len(b.Parts) || !a.Generated {
		a, b = b, a
	}
	if !a.Generated || b.Other || b.Hash || len(a.Parts) > len(b.Parts) {
		return false
	}
	for i, p := range a.Parts {
		if !sameName(b.Parts[i].Column, p.Column) || b.prefix(i) != a.prefix(i) || b.Parts[i].Descending {
			return false
		}
	}
	return true
}

// nameKey finds the name that the server gives to a key without one.
func (d *Definition) nameKey(key *Key, k syntax.Key) {
	switch {
	case key.Primary:
		key.Name = primaryName
		return
	case key.Generated && k.Symbol != "":
		key.Name = k.Symbol
	case key.Name == "" && key.Unique:
		key.Name = k.Symbol
	}
	if key.Name != "" {
		return
	}
	base := key.Parts[0].Column
	if slices.ContainsFunc(k.Parts, func(p syntax.KeyPart) bool { return p.Column == "" }) {
		base = "functional_index"
	}
	key.Name = base
	for n := 2; d.keyNamed(key.Name) >= 0 || strings.EqualFold(key.Name, primaryName); n++ {
		key.Name = fmt.Sprintf("%s_%d", base, n)
	}
}

// sortKeys brings the keys into the server's order: the primary key, unique keys
// of columns that are NOT NULL, those of whole columns first, other unique keys, then
// the rest; else as they were.
func (d *Definition) sortKeys() {
	slices.SortStableFunc(d.Keys, func(a, b Key) int { return d.rank(a) - d.rank(b) })
}

func (d *Definition) rank(k Key) int {
	switch {
	case k.Primary:
		return 0
	case !k.Unique:
		return 9
	}
	rank := 1
	if slices.ContainsFunc(k.Parts, func(p KeyPart) bool { i := d.column(p.Column); return i >= 0 && d.Columns[i].Nullable }) {
		rank += 4
	}
	if k.Hash {
		rank += 2
	}
	if slices.ContainsFunc(k.Parts, func(p KeyPart) bool { return p.Prefix > 0 }) {
		rank++
	}
	return rank
}

// dropHidden removes the hidden columns that no key uses any more.
func (d *Definition) dropHidden() {
	d.Columns = slices.DeleteFunc(d.Columns, func(c Column) bool {
		return c.Hidden && !slices.ContainsFunc(d.Keys, func(k Key) bool {
			return slices.ContainsFunc(k.Parts, func(p KeyPart) bool { return p.Column == c.Name })
		})
	})
}
