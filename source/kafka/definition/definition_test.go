package definition

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

func text(t *schema.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", t.ID)
	for _, c := range t.Columns {
		fmt.Fprintf(&b, " | %s %s", c.Name, c.Type)
		if !c.Nullable {
			b.WriteString(" NOT NULL")
		}
	}
	return b.String() + fmt.Sprint(" ", t.PrimaryKey)
}

func TestParse(t *testing.T) {
	all, err := Parse("shop.orders (id bigint not null, `the price` DECIMAL(10, 2), primary key (id) not enforced);\n" +
		"(a ARRAY<ROW<x INT, y MAP<STRING, TIMESTAMP(3)>>>, t TIME(3), z TIMESTAMP WITH TIME ZONE, u BIGINT UNSIGNED, primary INT NULL, j JSON, v VARCHAR(5));")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[schema.TableID]string{
		{Schema: "shop", Table: "orders"}: "shop.orders | id BIGINT NOT NULL | the price DECIMAL(10, 2) [id]",
		{Table: "x"}:                      " | a ARRAY<ROW<x INT, y MAP<STRING, TIMESTAMP(3)>>> | t TIME(3) | z TIMESTAMP(6) WITH TIME ZONE | u BIGINT UNSIGNED | primary INT | j JSON | v VARCHAR(5) []",
	} {
		if got := text(all.For(id)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if n := len(all.Named()); n != 1 {
		t.Errorf("%d named definitions", n)
	}
	if (*Tables)(nil).For(schema.TableID{Table: "x"}) != nil {
		t.Error("no definitions define a table")
	}
}

func TestRefused(t *testing.T) {
	for _, bad := range []string{"x", "x (", "x ()", "x (a)", "x (a INT", "x (a INT,)", "x (a NOTHING)", "x (a INT) y (b INT)", "x (a INT, a INT)", "x (a INT, PRIMARY KEY (b))",
		"a.b.c.d (a INT)", "x (a DECIMAL(80, 2))", "x (a DECIMAL(4, 5))", "x (a TIME(7))", "x (a ARRAY<INT)", "x (`a INT)", "(a INT);(b INT)", "x (a INT); x (b INT)", strings.Repeat("x (a ARRAY<", 1) + strings.Repeat("ARRAY<", 100)} {
		if _, err := Parse(bad); !errors.Is(err, ErrSyntax) {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("shop.orders (id bigint not null, `the price` DECIMAL(10, 2), primary key (id)); (a ARRAY<ROW<x INT>>)")
	f.Fuzz(func(t *testing.T, s string) {
		all, err := Parse(s)
		if err != nil {
			return
		}
		for _, def := range all.Named() {
			def.ArrowSchema() // every type is valid
		}
	})
}
