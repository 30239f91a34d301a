package document

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// redactor finds secrets in texts that others made. A text says in three ways that a
// secret is in it:
//
//   - it is a URL with a password, or password=..., whatever the password is;
//   - it names a password and then a known secret: password "a", token: a;
//   - it holds a known secret that stands out: long enough, and neither a
//     word nor a number. It counts where no letter or digit is beside it.
//
// Short secrets, plain words and numbers are left alone elsewhere: to mask the password
// a, or orders, would spoil texts and give away that it is the password.
type redactor struct {
	// forms stand out; longest first.
	forms []string
	// named is nil where there are no secrets.
	named, inURL *regexp.Regexp
}

var (
	userinfo = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://[^/\s:@]*):[^@/\s]+@`)
	keyword  = regexp.MustCompile(`(?i)\b((?:password|passwd|sslpassword)\s*=\s*)('(?:[^'\\]|\\.|'')*'|[^\s&']+)`)
	// urlPieces are what net/url shows of a URL whose password has characters
	// that ought to be escaped.
	urlPieces = regexp.MustCompile(`(invalid port |invalid URL escape |invalid character )"(?:[^"\\]|\\.)*"`)
)

const (
	// leastSecret is the length in bytes from which a secret can stand out.
	leastSecret = 6
	// leastPhrase is the length from which words stand out too, and from which
	// a secret is found inside other words.
	leastPhrase = 16
)

func newRedactor(secrets, public []string) *redactor {
	n := &redactor{}
	var all []string
	for _, s := range secrets {
		if s == "" {
			continue
		}
		for _, form := range spellings(s) {
			if !slices.Contains(all, form) {
				all = append(all, form)
			}
			if standsOut(s) && !slices.Contains(public, s) && !slices.Contains(n.forms, form) {
				n.forms = append(n.forms, form)
			}
		}
	}
	longest := func(a, b string) int { return len(b) - len(a) }
	slices.SortStableFunc(n.forms, longest)
	if slices.SortStableFunc(all, longest); len(all) == 0 {
		return n
	}
	for i, form := range all {
		all[i] = regexp.QuoteMeta(form)
	}
	known := "(?-i:" + strings.Join(all, "|") + ")"
	n.inURL = regexp.MustCompile(`(://[^/\s:@]*:)` + known + `@`)
	n.named = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|pwd|secret|token|(?:access|api|private)[ _-]?key)["'` + "`" + `]?(?:\s*[:=]\s*["'` + "`" + `]?|\s+["'` + "`" + `]))` + known + `(["'` + "`" + `\s,;&)\]}]|$)`)
	return n
}

// spellings returns the ways in which a text may write s: as it is, quoted, as SQL
// or libpq quotes it, and in the escapes of URLs.
func spellings(s string) []string {
	quoted := strconv.Quote(s)
	out := []string{s, quoted[1 : len(quoted)-1], strings.ReplaceAll(s, "'", "''"), strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)}
	_, info, _ := strings.Cut(url.UserPassword("", s).String(), ":")
	for _, escaped := range []string{info, url.QueryEscape(s), url.PathEscape(s)} {
		out = append(out, escaped, escape.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var (
	escape = regexp.MustCompile(`%[0-9A-F]{2}`)
	// plain is what ordinary texts are made of: words, names of several words, numbers, times.
	plain = regexp.MustCompile(`^(?:(?:[\p{Lu}]?\p{Ll}+|\p{Lu}+)(?:[ _.-](?:[\p{Lu}]?\p{Ll}+|\p{Lu}+))*|[0-9][0-9.,:/+ -]*)$`)
)

// standsOut says whether s can be told from ordinary text.
func standsOut(s string) bool {
	return len(s) >= leastPhrase || len(s) >= leastSecret && !plain.MatchString(s)
}

// redact masks what it finds.
func (n *redactor) redact(text string) string {
	if n == nil {
		return text
	}
	if n.named != nil {
		text = n.inURL.ReplaceAllString(text, "${1}"+Mask+"@")
		text = n.named.ReplaceAllString(text, "${1}"+Mask+"${2}")
	}
	text = keyword.ReplaceAllString(userinfo.ReplaceAllString(text, "$1:"+Mask+"@"), "${1}"+Mask)
	text = urlPieces.ReplaceAllString(text, `${1}"`+Mask+`"`)
	for _, form := range n.forms {
		text = maskToken(text, form)
	}
	return text
}

// maskToken masks form where it is no part of a longer word.
func maskToken(text, form string) string { return maskWith(text, form, Mask) }

func maskWith(text, form, mask string) string {
	first, _ := utf8.DecodeRuneInString(form)
	last, _ := utf8.DecodeLastRuneInString(form)
	var out strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], form)
		if i < 0 {
			if at == 0 {
				return text
			}
			out.WriteString(text[at:])
			return out.String()
		}
		start, end := at+i, at+i+len(form)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		out.WriteString(text[at:start])
		if len(form) < leastPhrase && (start > 0 && isWord(first) && isWord(before) || end < len(text) && isWord(last) && isWord(after)) {
			out.WriteString(form)
		} else {
			out.WriteString(mask)
		}
		at = end
	}
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// hideValue puts a replacement in place of a value that a message quotes, or holds
// as a word of its own.
func hideValue(msg, value, replacement string) string {
	msg = strings.ReplaceAll(msg, strconv.Quote(value), strconv.Quote(replacement))
	if len(value) >= leastSecret {
		msg = maskWith(msg, value, replacement)
	}
	return msg
}
