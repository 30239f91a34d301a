package snapshot

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/value"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

func tableName(t *schema.Table) string { return wire.Table(t.ID.Schema, t.ID.Table) }

// selectList writes the columns of a table as the decoder expects them. Expressions
// get no label: ORDER BY would mean that instead of the column.
func selectList(t *schema.Table, flavor wire.Flavor) string {
	list := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		list[i] = value.SelectExpression(c)
	}
	text := "SELECT "
	if flavor == wire.MariaDB {
		text += "SQL_NO_CACHE " // what is read once would push the query cache's content out
	}
	return text + strings.Join(list, ", ")
}

// chunkQuery reads a range in the order of the key, so that it can be cut behind any
// row, or the first limit of single rows.
func chunkQuery(job Job, flavor wire.Flavor, limit int) string {
	if job.Only != nil {
		only := job.Only[:min(limit, len(job.Only))]
		return selectList(job.Table, flavor) + job.Key.from(tableName(job.Table)) + " WHERE (" + strings.Join(only, ") OR (") + ")"
	}
	return selectList(job.Table, flavor) + job.Key.from(tableName(job.Table)) + job.Key.clause(job.Range) +
		" ORDER BY " + job.Key.order(false) + " LIMIT " + strconv.Itoa(limit)
}

// boundaryQuery asks for the key of row number n, from 1, of a range.
func boundaryQuery(t *schema.Table, k *Key, r Range, n int) string {
	return "SELECT " + k.expressions() + k.from(tableName(t)) + k.clause(r) + " ORDER BY " + k.order(false) + " LIMIT " + strconv.Itoa(n-1) + ", 1"
}

// walkQuery asks for the key of the row at which a range of n rows is to end. Where the
// index does not bring the order, any row about there will do: rows come in the order
// of their prefixes then, and sorting a whole table for each boundary would take hours.
func walkQuery(t *schema.Table, k *Key, r Range, n int) string {
	if k.ordered() {
		return boundaryQuery(t, k, r, n)
	}
	return "SELECT " + k.expressions() + k.from(tableName(t)) + k.clause(r) + " LIMIT " + strconv.Itoa(n-1) + ", 1"
}

// edgeQuery asks for the first key of a table, or the last one.
func edgeQuery(t *schema.Table, k *Key, last bool) string {
	return "SELECT " + k.expressions() + k.from(tableName(t)) + " ORDER BY " + k.order(last) + " LIMIT 1"
}

// queryBound runs a query of one key; nil says that there is no such row.
func queryBound(ctx context.Context, conn *wire.Conn, k *Key, sql string) (Bound, error) {
	res, err := conn.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	switch len(res.Rows) {
	case 0:
		return nil, nil
	case 1:
		return k.bound(res.Rows[0])
	}
	return nil, fmt.Errorf("%w: %d rows for one key", wire.ErrProtocol, len(res.Rows))
}
