package registry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freshet-cdc/freshet/sink/kafka/registry"
)

// TestLatest: the newest schema of a subject is used where it is the table's, in whichever form:
// with types from other subjects, with other attributes, or as a branch of a union.
func TestLatest(t *testing.T) {
	const (
		source = `{"type":"record","name":"Source","namespace":"io.x","fields":[{"name":"db","type":"string"}]}`
		ours   = `{"type":"record","name":"Value","namespace":"shop.b","fields":[{"name":"s","type":["null",` + source + `],"default":null},{"name":"again","type":"io.x.Source"},{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":5,"scale":2,"connect.version":1}}]}`
		refers = `{"doc":"by hand","type":"record","name":"shop.b.Value","fields":[{"name":"s","type":["null","io.x.Source"]},{"name":"again","type":"io.x.Source"},{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}}]}`
		first  = `{"type":"record","name":"Value","namespace":"shop.a","fields":[{"name":"s","type":` + source + `}]}`
	)
	ref := func(name, subject string) sr.SchemaReference {
		return sr.SchemaReference{Name: name, Subject: subject, Version: 1}
	}
	for name, c := range map[string]struct {
		top    sr.Schema
		branch string
		ok     bool
	}{
		"same":       {sr.Schema{Schema: ours}, "", true},
		"references": {sr.Schema{Schema: refers, References: []sr.SchemaReference{ref("io.x.Source", "source")}}, "", true},
		"union":      {sr.Schema{Schema: `["shop.a.Value","shop.b.Value"]`, References: []sr.SchemaReference{ref("shop.a.Value", "a"), ref("shop.b.Value", "b")}}, "\x02", true},
		"inline":     {sr.Schema{Schema: `[` + first + `,` + strings.Replace(ours, source, `"io.x.Source"`, 1) + `]`}, "\x02", true},
		"scale":      {sr.Schema{Schema: strings.Replace(ours, `"scale":2`, `"scale":3`, 1)}, "", false},
		"field":      {sr.Schema{Schema: strings.Replace(ours, `"again"`, `"anew"`, 1)}, "", false},
		"elsewhere":  {sr.Schema{Schema: `["null",` + first + `]`}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := fake(t)
			for _, s := range []struct {
				subject string
				schema  sr.Schema
			}{{"source", sr.Schema{Schema: source}}, {"a", sr.Schema{Schema: first}},
				{"b", sr.Schema{Schema: refers, References: []sr.SchemaReference{ref("io.x.Source", "source")}}}, {"t-value", c.top}} {
				if _, _, err := r.RegisterSchema(s.subject, s.schema); err != nil {
					t.Fatal(err)
				}
			}
			id, branch, err := client(t, registry.Options{URLs: []string{r.URL()}}).Latest(t.Context(), "t-value", registry.Schema{Text: ours}, "shop.b.Value")
			if found, _ := r.GetSchema("t-value", 1); c.ok && (err != nil || id != found.ID || string(branch) != c.branch) {
				t.Errorf("%d, %x, %v", id, branch, err)
			}
			if refused := (*registry.Error)(nil); !c.ok && (!errors.As(err, &refused) || refused.Version != 1) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, _, err := client(t, registry.Options{URLs: []string{fake(t).URL()}}).Latest(t.Context(), "t-value", registry.Schema{Text: ours}, "x"); !errors.Is(err, registry.ErrRefused) {
		t.Error(err)
	}
}
