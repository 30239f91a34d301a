package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// numeric turns plain notation into the value that pgx sends in binary.
func numeric(text string) pgtype.Numeric {
	var n pgtype.Numeric
	if err := n.Scan(text); err != nil {
		panic(err) // text comes from shop.cents
	}
	return n
}

// writer keeps changing the shop: small transactions over all tables, spread over
// the time that is given, until changes rows were changed.
type writer struct {
	shop *shop
	conn *pgx.Conn
	// onChange is told the number of row changes committed so far.
	onChange func(total int)
}

// run returns the number of row changes that it committed.
func (w *writer) run(ctx context.Context, changes int, spread time.Duration) (int, error) {
	start, total := time.Now(), 0
	for total < changes {
		n, err := w.transaction(ctx)
		if err != nil {
			return total, fmt.Errorf("writer of the demo: %w", err)
		}
		total += n
		w.onChange(total)
		ahead := time.Duration(float64(spread)*float64(total)/float64(changes)) - time.Since(start)
		if ahead > 5*time.Millisecond {
			time.Sleep(ahead)
		}
	}
	return total, nil
}

// transaction does up to a dozen things in one transaction and returns the
// number of rows that it changed.
func (w *writer) transaction(ctx context.Context) (int, error) {
	tx, err := w.conn.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	total := 0
	for range 1 + w.shop.rng.IntN(12) {
		batch := w.statements()
		results := tx.SendBatch(ctx, batch)
		for range batch.Len() {
			tag, err := results.Exec()
			if err != nil {
				results.Close()
				return 0, err
			}
			total += int(tag.RowsAffected())
		}
		if err := results.Close(); err != nil {
			return 0, err
		}
	}
	return total, tx.Commit(ctx)
}

// statements is one thing that happens in a shop.
func (w *writer) statements() *pgx.Batch {
	s, b := w.shop, &pgx.Batch{}
	switch anyOrder := 1 + s.rng.Int64N(s.orders); s.rng.IntN(10) {
	case 0, 1, 2: // somebody orders
		s.orders++
		b.Queue(insert("orders", 7), s.order(s.orders)...)
		for line := range 1 + s.rng.IntN(3) {
			b.Queue(insert("order_items", 5), s.item(s.orders, line+1)...)
		}
		b.Queue(`UPDATE customers SET profile = jsonb_set(profile, '{last}', to_jsonb($2::bigint)) WHERE id = $1`, 1+s.rng.Int64N(s.customers), s.orders)
	case 3, 4, 5: // an order goes its way
		b.Queue(`UPDATE orders SET status = $2, updated_at = $3 WHERE id = $1`, anyOrder, []string{"paid", "shipped", "returned"}[s.rng.IntN(3)], s.at())
	case 6: // an order is deleted
		b.Queue(`DELETE FROM order_items WHERE order_id = $1`, anyOrder)
		b.Queue(`DELETE FROM orders WHERE id = $1`, anyOrder)
	case 7: // somebody joins or is renamed
		s.customers++
		b.Queue(insert("customers", 8), s.customer(s.customers)...)
		b.Queue(`UPDATE customers SET name = $2, credit = credit + 1 WHERE id = $1`, 1+s.rng.Int64N(s.customers), s.text(2))
	case 8: // a sample is measured again, another moves to a new id
		id := 1 + s.rng.Int64N(s.samples)
		s.samples++
		b.Queue(`UPDATE samples SET weight = weight * 2, took = took * 2, series = series || id WHERE id = $1`, id)
		b.Queue(`UPDATE samples SET id = $2 WHERE id = $1`, 1+s.rng.Int64N(s.samples-1), s.samples)
	default: // pages are looked at
		for range 1 + s.rng.IntN(4) {
			b.Queue(insert("page_views", 4), s.view(0)...)
		}
	}
	return b
}

// insert returns an INSERT of all columns, which are n.
func insert(table string, n int) string {
	marks := make([]string, n)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO %s VALUES (%s)", table, strings.Join(marks, ", "))
}
