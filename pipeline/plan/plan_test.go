package plan_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/pipeline/plan"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/source"
)

type routes struct{}

func (routes) Targets(id schema.TableID) ([]match.Target, error) {
	return []match.Target{{ID: schema.TableID{Schema: "lake", Table: id.Table}, Rule: 0}}, nil
}

type describer struct{}

func (describer) Describe(t *schema.Table, target schema.TableID) (sink.Description, error) {
	if t.ID.Table == "bad" {
		return sink.Description{}, errors.New("no type")
	}
	d := sink.Description{Target: target.String(), Mode: "upsert", Notes: []string{"infinite dates are clamped"}}
	for _, c := range t.Columns {
		d.Columns = append(d.Columns, sink.DescribedColumn{Name: c.Name, SourceType: "bigint", Type: c.Type.String(), SinkType: "long", Note: "required"})
	}
	return d, nil
}

func table(name string, key ...string) source.Table {
	return source.Table{
		Schema: &schema.Table{ID: schema.TableID{Schema: "public", Table: name}, Columns: []schema.Column{{Name: "id", Type: schema.BigInt()}}, PrimaryKey: key},
		Rows:   1500, Bytes: 3 << 20, Chunks: 2,
	}
}

func TestPrint(t *testing.T) {
	views := table("views")
	views.Rows, views.Notes = -1, []string{"has no primary key: its rows become visible when its snapshot is complete"}
	p, err := plan.Make([]source.Table{table("orders", "id"), views}, routes{}, describer{})
	if err != nil {
		t.Fatal(err)
	}
	p.Notes = []string{"route rule 2 matches no table"}
	var out strings.Builder
	if err := p.Print(&out, true); err != nil {
		t.Fatal(err)
	}
	want := `TABLE          ROWS     SIZE     CHUNKS  KEY   TARGET       MODE
public.orders  1500     3.0 MiB  2       id    lake.orders  upsert
public.views   unknown  3.0 MiB  2       none  lake.views   upsert
2 tables, about 1500 rows, 6.0 MiB

public.orders -> lake.orders
  id  bigint  long  required

public.views -> lake.views
  id  bigint  long  required

Notes
  route rule 2 matches no table
  lake.orders: infinite dates are clamped
  public.views: has no primary key: its rows become visible when its snapshot is complete
  lake.views: infinite dates are clamped
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTableThatTheSinkCannotHold(t *testing.T) {
	if _, err := plan.Make([]source.Table{table("bad")}, routes{}, describer{}); err == nil || !strings.Contains(err.Error(), "table public.bad in the sink as lake.bad: no type") {
		t.Errorf("%v", err)
	}
}
