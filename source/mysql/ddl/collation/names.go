package collation

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed collations.txt
var list string

type key struct {
	id      uint16
	mariadb bool
}

var names = sync.OnceValue(func() map[key]string {
	out := map[key]string{}
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		n, err := strconv.ParseUint(f[0], 10, 16)
		if err != nil {
			continue // the rest of a comment
		}
		if len(f) == 2 || f[2] == "mysql" {
			out[key{uint16(n), false}] = f[1]
		}
		if len(f) == 2 || f[2] == "mariadb" {
			out[key{uint16(n), true}] = f[1]
		}
	}
	return out
})

// Name returns the collation with a number, empty for one that is not known.
func Name(id uint16, mariadb bool) string {
	if mariadb && id >= firstNoPad {
		return mariaName(id)
	}
	return names()[key{id, mariadb}]
}

// MariaDB's numbers follow rules: from 1024 on lie the collations of numbers below
// it without padding, from 2048 on those of Unicode 14, 256 for each character set
// and 8 for each language.
const (
	firstNoPad   = 1024
	firstUCA1400 = 2048
)

var (
	uca1400Charsets  = []string{"utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"}
	uca1400Languages = []string{"", "icelandic_", "latvian_", "romanian_", "slovenian_", "polish_", "estonian_", "spanish_", "swedish_",
		"turkish_", "czech_", "danish_", "lithuanian_", "slovak_", "spanish2_", "roman_", "persian_", "esperanto_", "hungarian_",
		"sinhala_", "german2_", "?", "?", "vietnamese_", "croatian_"} // two are not in use
	uca1400Kinds = []string{"ai_ci", "ai_cs", "as_ci", "as_cs", "nopad_ai_ci", "nopad_ai_cs", "nopad_as_ci", "nopad_as_cs"}
)

func mariaName(id uint16) string {
	if id < firstUCA1400 {
		base := names()[key{id - firstNoPad, true}]
		cut := strings.LastIndexByte(base, '_')
		if cut < 0 {
			return ""
		}
		return base[:cut] + "_nopad" + base[cut:]
	}
	n := int(id - firstUCA1400)
	charset, language, kind := n/256, n%256/8, n%8
	if charset >= len(uca1400Charsets) || language >= len(uca1400Languages) || uca1400Languages[language] == "?" {
		return ""
	}
	return uca1400Charsets[charset] + "_uca1400_" + uca1400Languages[language] + uca1400Kinds[kind]
}

// Canonical returns the name, of a character set or of a collation, that the
// servers print today: lower case, and utf8mb3 for utf8.
func Canonical(name string) string {
	name = strings.ToLower(name)
	if name == "utf8" || strings.HasPrefix(name, "utf8_") {
		return "utf8mb3" + name[len("utf8"):]
	}
	return name
}

// Charset returns the character set of a collation. MariaDB's short names, which
// fit several sets (uca1400_ai_ci), have none: the result is empty.
func Charset(collation string) string {
	collation = Canonical(collation)
	if collation == "binary" {
		return collation
	}
	charset, _, ok := strings.Cut(collation, "_")
	if _, known := charsets[charset]; !ok || !known {
		return ""
	}
	return charset
}
