package document

import (
	"net/url"
	"regexp"
	"strings"
)

// Mask is what is printed in place of a secret.
const Mask = "******"

// Secrets stay out of messages at their source: no message of this package holds a
// value that is secret, or that came from ${...}. What others say (drivers,
// servers) goes through [Document.Redact].

var secretKey = regexp.MustCompile(`(?i)(^|[._-])(password|passwd|passphrase|secret|token|credentials?|private[._-]?key|access[._-]?key|account[._-]?key|api[._-]?key|sas[._-]?token)([._-]|$)`)

// isSecret says whether the value of f must never be printed: its option is
// secret, or its key sounds so, or it was read from a file.
func isSecret(o Option, f field) bool {
	return o.Secret || f.file || secretKey.MatchString(f.key)
}

// secretParts returns what must not be shown of a secret value: the password of
// a URL or of a keyword=value connection string, else all of it.
func secretParts(text string) []string {
	if scheme, rest, ok := strings.Cut(text, "://"); ok && scheme != "" {
		parts := urlSecrets(rest)
		if u, err := url.Parse(text); err == nil {
			if password, ok := u.User.Password(); ok {
				parts = append(parts, password)
			}
			return parts
		}
		return append(parts, text)
	}
	if m := keyword.FindStringSubmatch(text); m != nil {
		return []string{strings.Trim(m[2], "'")}
	}
	return []string{text}
}

// urlSecrets returns the password as the URL spells it. What follows the scheme may be
// no valid URL: then the password ends at the last @, and its pieces count as well,
// since errors of parsers show what they take for a host or a port.
func urlSecrets(rest string) []string {
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return nil
	}
	_, password, ok := strings.Cut(rest[:at], ":")
	if !ok || password == "" {
		return nil
	}
	parts := []string{password}
	for _, piece := range strings.FieldsFunc(password, func(r rune) bool { return strings.ContainsRune("/?#@:", r) }) {
		if piece != password {
			parts = append(parts, piece)
		}
	}
	return parts
}

// shown returns a value as it may be printed.
func (d *Document) shown(b Block, key string) string {
	value := b.Options[key]
	if b.secret[key] && !strings.Contains(value, "://") {
		return Mask
	}
	return d.Redact(value)
}

// Redact takes the document's secrets out of a text that others made; see [redactor].
func (d *Document) Redact(text string) string { return d.secrets.redact(text) }

// setSecrets keeps the secrets for Redact.
func (d *Document) setSecrets(secrets []string) {
	public := []string{d.Pipeline.Name}
	for _, b := range []Block{d.Source, d.Sink} {
		for key, value := range b.Options {
			if !b.secret[key] {
				public = append(public, value)
			}
		}
	}
	d.secrets = newRedactor(secrets, public)
}
