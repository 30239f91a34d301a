package document_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/pipeline/document"
)

// withPassword is a document whose password is p, given as it is or by a variable.
func withPassword(t *testing.T, p string, variable bool) *document.Document {
	t.Helper()
	value := strconv.Quote(p) // YAML reads Go's escapes
	e := env
	if variable {
		value = `"${P}"`
		e.LookupEnv = func(string) (string, bool) { return p, true }
	}
	doc, err := document.Parse("/etc/shop.yaml", []byte(`
source: {type: postgres, hostname: db, tables: s.t, username: app, password: `+value+`}
sink: {type: iceberg, catalog.properties.warehouse: "file:///w"}
`), kinds, e)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// ordinary are texts that no password may spoil.
const ordinary = `source postgres: password authentication failed for user "app" (SQLSTATE 28P01)
table public.orders: a row of 123456 rows came at 0/16B3748, 2024-01-01; relation "orders" does not exist, column "a" of "order items"
can't parse the value "a": invalid syntax; sha256 of secret data; key id=a, token expected; password is required`

// TestOrdinaryTextsStay: a password that is short, a word or a number is not looked
// for inside other texts.
func TestOrdinaryTextsStay(t *testing.T) {
	for _, p := range []string{"a", "pw", "id", "orders", "postgres", "password", "authentication", "123456", "2024-01-01", "order items", "Row", "SQLSTATE", "secret", "e", " ", "28P01"} {
		for _, variable := range []bool{false, true} {
			if got := withPassword(t, p, variable).Redact(ordinary); got != ordinary {
				t.Errorf("password %q spoils\n%s", p, got)
			}
		}
	}
}

// TestNamedSecretsGo: where the text says that it is a password, every password goes.
func TestNamedSecretsGo(t *testing.T) {
	for _, p := range []string{"a", "pw", "orders", "postgres", "123456", "p@ss/w:rd", "x y", "%41", `quo"te`, `it's`, `back\slash`, "ünï", "a#b?c"} {
		doc := withPassword(t, p, false)
		for _, text := range []string{
			"postgres://app:" + p + "@db/shop failed", "parse \"postgres://app:" + url.QueryEscape(p) + "@db\": no",
			"at " + (&url.URL{Scheme: "postgres", User: url.UserPassword("app", p), Host: "db"}).String(),
			"password=" + strings.ReplaceAll(strconv.Quote(p), `"`, "") + ", host=db", "password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p) + "' host=db",
			"ALTER ROLE app PASSWORD '" + strings.ReplaceAll(p, "'", "''") + "'", "the password " + strconv.Quote(p) + " is weak", `{"password":` + strconv.Quote(p) + `}`,
		} {
			got := doc.Redact(text)
			if !strings.Contains(got, document.Mask) {
				t.Errorf("password %q: not masked in %s", p, got)
			}
			if rest := strings.Replace(got, document.Mask, "", 1); len(p) > 2 && strings.Contains(strings.Replace(rest, "postgres://", "", 1), p) {
				t.Errorf("password %q: %s became %s", p, text, got)
			}
			if !strings.Contains(got, "app") && !strings.Contains(got, "db") && !strings.Contains(got, "weak") && !strings.Contains(got, "{") {
				t.Errorf("password %q: too much is gone: %s", p, got)
			}
		}
	}
}

// TestStandingOutSecretsGo: a secret that can't be meant otherwise goes wherever it
// stands, in every spelling.
func TestStandingOutSecretsGo(t *testing.T) {
	for _, p := range []string{"hunter2", "s3cr3t", "p@ss w/rd%", "correct horse battery staple", "CamelCase", "Tr0ub4dor&3", "ab\ncd!"} {
		doc := withPassword(t, p, true)
		for _, spelled := range []string{p, url.QueryEscape(p), url.PathEscape(p), strings.ToLower(url.QueryEscape(p)), strconv.Quote(p), "<" + p + ">", p + "."} {
			if spelled != p && strings.ToLower(p) != p && strings.ToLower(url.QueryEscape(p)) == spelled {
				continue // another text
			}
			if got := doc.Redact("it says " + spelled + " here"); !strings.Contains(got, document.Mask) || strings.Contains(got, p) {
				t.Errorf("%q: %s", p, got)
			}
		}
		if p == "hunter2" {
			if got := doc.Redact("bighunter2 hunter22 hunter2_x"); strings.Contains(got, document.Mask) {
				t.Errorf("inside other words: %s", got)
			}
		}
	}
}

// TestSpoiltURLs: the errors of net/url show pieces of a password that should have been escaped.
func TestSpoiltURLs(t *testing.T) {
	for _, raw := range []string{"postgres://app:pa/ss9x@db/shop", "postgres://app:p%zz9x@db/shop", "postgres://app:lo ng#pa?ss@db/shop", "postgres://app:p:q:r9@db/shop"} {
		doc, err := document.Parse("/etc/shop.yaml", []byte(`
source: {type: postgres, hostname: db, tables: s.t, password: "`+raw+`"}
sink: {type: iceberg, catalog.properties.warehouse: "file:///w"}
`), kinds, env)
		if err != nil {
			t.Fatal(err)
		}
		_, cause := url.Parse(raw)
		text := "cannot parse " + raw
		if cause != nil {
			text += ": " + cause.Error()
		}
		got := doc.Redact(text)
		for _, piece := range []string{"ss9x", "zz9x", "ng#pa", "q:r9", ":pa"} {
			if strings.Contains(got, piece) {
				t.Errorf("%s became %s", text, got)
			}
		}
	}
}

// TestValuesFromOutsideStayOut: no problem shows a value that came from ${...} or a
// file, whatever its type and whatever is wrong with it.
func TestValuesFromOutsideStayOut(t *testing.T) {
	const value = "hunter2secret"
	keys := []string{"execution.checkpointing.interval", "execution.checkpointing.dir", "parallelism", "pipeline.max-parallelism", "state.backend.type", "local-time-zone",
		"metrics.address", "restart-strategy.exponential-delay.jitter-factor", "route-mode", "schema.change.behavior"}
	for _, value := range []string{value, "-7", "0", "5 " + value, "s3://" + value, "file://" + value + "/x", "ftp:" + value} {
		e := env
		e.LookupEnv = func(string) (string, bool) { return value, true }
		e.ReadFile = func(string) ([]byte, error) { return []byte(value), nil }
		for _, given := range []string{"${P}", "${file:/x}"} {
			var b strings.Builder
			b.WriteString("source: {type: \"" + given + "\", hostname: h, port: \"" + given + "\", tables: s.t, heartbeat.interval: \"" + given + "\", chunk.bytes: \"" + given + "\", schema-change.enabled: \"" + given + "\", scan.startup.mode: \"" + given + "\"}\n")
			b.WriteString("sink: {type: iceberg, catalog.properties.warehouse: \"file:///w\", write.mode: \"" + given + "\"}\npipeline:\n")
			for _, key := range keys {
				b.WriteString("  " + key + ": \"" + given + "\"\n")
			}
			for _, text := range []string{b.String(), strings.Replace(b.String(), "type: \""+given, "type: \"postgres", 1)} {
				_, err := document.Parse("/etc/shop.yaml", []byte(text), kinds, e)
				if err == nil {
					t.Fatal("nothing is wrong")
				}
				if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "-7") || strings.Contains(err.Error(), "is 0") || strings.Contains(err.Error(), "ftp") {
					t.Errorf("%s, %s:\n%v", value, given, err)
				}
			}
		}
	}
}
