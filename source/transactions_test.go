package source_test

import (
	"reflect"
	"testing"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source"
)

// TestTransactions: rows count by table over batches, also of a transaction that goes on
// in the next one; the newest is held back while it is open.
func TestTransactions(t *testing.T) {
	a, b := schema.TableID{Table: "a"}, schema.TableID{Table: "b"}
	batch := func(id schema.TableID, txs ...schema.Tx) *schema.Batch {
		return &schema.Batch{Table: &schema.Table{ID: id}, Txs: txs, Origin: &schema.Origin{Txs: make([]schema.TxOrigin, len(txs))}}
	}
	c := source.NewTransactions(source.Needs{Origin: true, Transactions: true})
	second := batch(b, schema.Tx{Commit: 7, Rows: 1}, schema.Tx{Commit: 5, Rows: 4})
	c.Add(batch(a, schema.Tx{Commit: 5, Rows: 2}, schema.Tx{Commit: 9, Rows: 3}))
	c.Add(second)
	want := []schema.Transaction{
		{Tx: schema.Tx{Commit: 5, Rows: 6}, Tables: []schema.TableRows{{Table: a, Rows: 2}, {Table: b, Rows: 4}}},
		{Tx: schema.Tx{Commit: 7, Rows: 1}, Tables: []schema.TableRows{{Table: b, Rows: 1}}},
	}
	if got := c.Ended(true); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v ended, want %+v", got, want)
	}
	more := batch(a, schema.Tx{Commit: 9, Rows: 1})
	c.Add(more)
	if got := more.Origin.Txs[0].Before; got != 3 {
		t.Errorf("%d rows before, want 3", got)
	}
	want = []schema.Transaction{{Tx: schema.Tx{Commit: 9, Rows: 4}, Tables: []schema.TableRows{{Table: a, Rows: 4}}}}
	if got := c.Ended(false); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v ended, want %+v", got, want)
	}
	if got := c.Ended(false); got != nil {
		t.Errorf("%v is left", got)
	}
}
