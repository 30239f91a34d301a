package ddl

import (
	"slices"
	"strings"
	"unicode"
)

// mayMoveValues reports whether a statement that can't be followed may have put other
// values under the names of columns, or other rows under that of the table, so that the
// definitions before and behind it do not show it. It looks at the words alone, those in
// strings and comments too: one too many has the table read again.
func mayMoveValues(sql string) bool {
	w := wordsOf(sql)
	switch {
	case len(w) == 0 || w[0] != "ALTER": // CREATE OR REPLACE TABLE, for instance
		return true
	case w.has("PARTITION", "PARTITIONING", "TABLESPACE", "IGNORE", "BLACKHOLE"):
		return true
	case w.has("DROP") && w.has("ADD"): // a column may have gone and come
		return true
	}
	return w.count("CHANGE")+w.count("RENAME") > 1 // two columns may have each other's names
}

// creates reports whether a statement that can't be followed makes a table that is empty
// then; complete: no table of that name was there.
func creates(sql string, complete bool) bool {
	w := wordsOf(sql)
	return len(w) > 0 && w[0] == "CREATE" && (complete || !w.has("EXISTS"))
}

// altersColumns reports whether a statement behind one that can't be followed may have
// changed what that one made, so that the definition behind both does not show it: a
// column that was added with a default, which is gone now.
func altersColumns(sql string) bool {
	w := wordsOf(sql)
	return w.has("DROP", "MODIFY", "CHANGE", "RENAME", "CONVERT") || w.count("ALTER") > 1
}

// words are those of a statement, in capitals.
type words []string

func wordsOf(sql string) words {
	return strings.FieldsFunc(strings.ToUpper(sql), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func (w words) has(any ...string) bool {
	return slices.ContainsFunc(w, func(s string) bool { return slices.Contains(any, s) })
}

func (w words) count(word string) (n int) {
	for _, s := range w {
		if s == word {
			n++
		}
	}
	return n
}
