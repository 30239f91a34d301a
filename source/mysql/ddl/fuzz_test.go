package ddl

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

// FuzzApply applies statements, one a line, to a catalogue: whatever they are, the
// chains of changes hold and the catalogue survives a checkpoint.
func FuzzApply(f *testing.F) {
	scripts, err := filepath.Glob("testdata/scripts/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "\napply") {
			input, _, _ := strings.Cut(part, "\n----")
			_, input, _ = strings.Cut(input, "\n")
			f.Add(input, byte(i))
		}
	}
	f.Fuzz(func(t *testing.T, script string, flags byte) {
		o := Options{MariaDB: flags&1 != 0, Version: []int{80015, 101118, 90704, 110809}[flags&3], LowerCaseTableNames: int(flags>>2) % 3}
		o.Value.MariaDB = o.MariaDB
		c := NewCatalog(o, []Database{{Name: "d", Charset: "latin1", Collation: "latin1_bin", Complete: true}, {Name: "e", Charset: "utf8mb4", Collation: "utf8mb4_bin", Complete: flags&64 != 0}}, nil)
		for i, sql := range strings.Split(script, "\n") {
			if i == 40 {
				break
			}
			s := Statement{SQL: sql, Database: "d", SQLMode: []uint64{modeStrictTrans, 0, modeANSIQuotes, modeOracle}[flags>>4&3], ClientCharset: 45, Position: uint64(i)}
			next, effects, err := c.Apply(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range effects {
				checkEffect(t, e)
			}
			c = next
		}
		checkRestored(t, c)
	})
}

func checkEffect(t *testing.T, e Effect) {
	at := e.Before
	for _, c := range e.Changes {
		if c.Kind != schema.ChangeTruncate && (c.Before != at || c.After.Version != at.Version+1) {
			t.Fatalf("broken chain at %s of %s", c.Kind, e.Table)
		}
		at = c.After
		for _, name := range at.PrimaryKey {
			if _, i := at.Column(name); i < 0 {
				t.Fatalf("the key of %s has column %s, which is not there", e.Table, name)
			}
		}
	}
	var typed *Error
	if e.Err != nil && !errors.As(e.Err, &typed) || e.Kind == Unknown && e.Err == nil {
		t.Fatalf("effect %+v", e)
	}
}

func checkRestored(t *testing.T, c *Catalog) {
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := Restore(data, c.o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(restored)
	if err != nil || string(again) != string(data) {
		t.Fatalf("after a checkpoint\n%s\nis\n%s (%v)", data, again, err)
	}
}
