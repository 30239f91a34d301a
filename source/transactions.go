package source

import (
	"cmp"
	"slices"

	"github.com/freshet-cdc/freshet/schema"
)

// Transactions gathers what the rows of changes tell of their transactions, for
// Needs.Origin and Needs.Transactions. The zero value gathers nothing.
type Transactions struct {
	origins, ends bool
	open          []schema.Transaction // that have not been told to have ended
	index         map[uint64]int       // in open, by commit
}

// NewTransactions returns what n asks for.
func NewTransactions(n Needs) *Transactions {
	return &Transactions{origins: n.Origin, ends: n.Transactions, index: map[uint64]int{}}
}

// Add counts the rows of a batch of changes, which goes out next, and notes in its
// Origin how many came before them.
func (t *Transactions) Add(b *schema.Batch) {
	if !t.origins && !t.ends {
		return
	}
	for i, tx := range b.Txs {
		n, known := t.index[tx.Commit]
		if !known {
			n = len(t.open)
			t.index[tx.Commit] = n
			t.open = append(t.open, schema.Transaction{Tx: tx})
			t.open[n].Rows = 0
		}
		of := &t.open[n]
		of.Rows += tx.Rows
		table := slices.IndexFunc(of.Tables, func(r schema.TableRows) bool { return r.Table == b.Table.ID })
		if table < 0 {
			table = len(of.Tables)
			of.Tables = append(of.Tables, schema.TableRows{Table: b.Table.ID})
		}
		if b.Origin != nil && i < len(b.Origin.Txs) {
			b.Origin.Txs[i].Before = of.Tables[table].Rows
			of.Origin = b.Origin.Txs[i]
			of.Origin.Before = 0
		}
		of.Tables[table].Rows += int64(tx.Rows)
	}
}

// Ended returns the transactions that have ended, in the order of their commits; inside
// says that the newest one has not. Nothing is returned where no sink wants it.
func (t *Transactions) Ended(inside bool) []schema.Transaction {
	if len(t.open) == 0 {
		return nil
	}
	ended := t.open
	slices.SortFunc(ended, func(a, b schema.Transaction) int { return cmp.Compare(a.Commit, b.Commit) })
	t.open = nil
	clear(t.index)
	if n := len(ended) - 1; inside {
		t.open = []schema.Transaction{ended[n]}
		t.index[ended[n].Commit] = 0
		ended = ended[:n]
	}
	if !t.ends {
		return nil
	}
	return ended
}
