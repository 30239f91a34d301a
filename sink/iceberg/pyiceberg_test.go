package iceberg

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
)

// readWithPyIceberg prints the tables of a catalog: what another code base makes of our files.
const readWithPyIceberg = `
import sys, json
from pyiceberg.catalog import load_catalog
uri, warehouse = sys.argv[1:3]
cat = load_catalog("freshet", type="sql", uri=uri, warehouse=warehouse)
out = {}
for ns in cat.list_namespaces():
    for ident in cat.list_tables(ns):
        t = cat.load_table(ident)
        out[".".join(ident)] = {
            "rows": t.scan().to_arrow().to_pylist(),
            "checkpoints": [s.summary.additional_properties.get("freshet.checkpoint-id") for s in t.snapshots()],
            "history": [len(t.scan(snapshot_id=s.snapshot_id).to_arrow()) for s in t.snapshots()],
            "identifiers": sorted(t.schema().identifier_field_names()),
        }
print(json.dumps(out, default=str))
`

// python finds an interpreter that has PyIceberg: FRESHET_PYTHON, or python3.
func python(t *testing.T) string {
	for _, candidate := range []string{os.Getenv("FRESHET_PYTHON"), "python3"} {
		if candidate != "" && exec.Command(candidate, "-c", "import pyiceberg, pyarrow, sqlalchemy").Run() == nil {
			return candidate
		}
	}
	t.Skip("no Python with PyIceberg: pip install 'pyiceberg[sql-sqlite,pyarrow]==0.12.0', and FRESHET_PYTHON=/path/to/python")
	return ""
}

type pyTable struct {
	Rows        []map[string]any
	Checkpoints []string
	History     []int
	Identifiers []string
}

// TestPyIcebergReads: PyIceberg, with our uri, warehouse and the name freshet, sees the same
// rows after updates, deletes, merged manifests, schema changes, a truncate and a rollback, at every snapshot.
func TestPyIcebergReads(t *testing.T) {
	py := python(t)
	l := newLab(t, map[string]string{"table.properties." + propMinMerge: "3", "history.expire.enabled": "false"})
	l.start()
	log := schema.TableID{Schema: "shop", Table: "Log Ü"}
	logDef := orders().WithID(log)
	l.announce(log, logDef)
	for i := range 6 {
		l.insert(10*i, 10*i+1, 10*i+2)
		l.write(l.id, l.def, schema.OpUpdate, 10*i)
		l.checkpoint()
		l.write(l.id, l.def, schema.OpDelete, 10*i+1)
		l.write(log, logDef, schema.OpInsert, i)
		l.checkpoint()
	}
	for _, c := range []*schema.Change{
		change(schema.ChangeRenameColumn, l.def, func(c *schema.Change, after *schema.Table) {
			c.Renames = map[string]string{"note": "remark"}
			after.Columns[1].Name = "remark"
		}),
	} {
		l.must(l.rig.Change(l.ctx, l.id, c))
		l.def = c.After
	}
	wide := change(schema.ChangeAlterColumn, l.def, func(c *schema.Change, after *schema.Table) {
		after.Columns[0].Type = schema.BigInt()
		c.Columns = after.Columns[:1]
	})
	l.must(l.rig.Change(l.ctx, l.id, wide))
	l.def = wide.After
	l.insert(100)
	l.write(l.id, l.def, schema.OpUpdate, 2)
	l.checkpoint()
	l.insert(101)
	l.checkpoint()
	l.lose(1)
	l.start()
	l.must(l.rig.Change(l.ctx, log, &schema.Change{Kind: schema.ChangeTruncate, Table: log, Before: logDef, After: logDef}))
	l.write(log, logDef, schema.OpInsert, 7)
	l.checkpoint()

	out, err := exec.Command(py, "-c", readWithPyIceberg, strings.Replace(l.opts[optURI], "sqlite://", "sqlite:///", 1), l.opts[optWarehouse]).CombinedOutput()
	if err != nil {
		t.Fatalf("PyIceberg: %v\n%s", err, out)
	}
	var got map[string]pyTable
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	l.must(json.Unmarshal([]byte(lines[len(lines)-1]), &got))

	want, _, err := l.rig.Read(l.ctx, l.def, l.id)
	l.must(err)
	var have []string
	for _, r := range got["shop.orders"].Rows {
		have = append(have, fmt.Sprintf("id=%v remark=%v", r["id"], r["remark"]))
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) || len(have) != 13 {
		t.Errorf("PyIceberg reads %q\nwant %q", have, want)
	}
	if h := got["shop.orders"].History; len(h) != 13 || h[0] != 3 || h[1] != 2 || h[12] != 13 {
		t.Errorf("rows by snapshot %v", h)
	}
	if c := got["shop.orders"].Checkpoints; len(c) != 13 || c[0] != "1" || c[12] != "13" {
		t.Errorf("checkpoints by snapshot %v", c)
	}
	if ids := got["shop.orders"].Identifiers; !slices.Equal(ids, []string{"id"}) {
		t.Errorf("identifier fields %v", ids)
	}
	if r := got["shop.Log Ü"].Rows; len(r) != 1 || r[0]["id"] != 7.0 || r[0]["__op"] != "c" || r[0]["__pos"] == nil {
		t.Errorf("the changelog is %v", r)
	}
}
