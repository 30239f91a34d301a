package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// shopTables are the tables of the shop, in the order in which they are filled.
var shopTables = []string{"customers", "orders", "order_items", "samples", "page_views"}

// shopDDL makes the shop: foreign keys, assorted types, and page_views, which has
// no primary key.
const shopDDL = `
CREATE TYPE order_status AS ENUM ('new', 'paid', 'shipped', 'returned');
CREATE TABLE customers (
    id          bigint PRIMARY KEY,
    email       text NOT NULL UNIQUE,
    name        varchar(80),
    credit      numeric(12, 2) NOT NULL DEFAULT 0,
    tags        text[],
    profile     jsonb,
    active      boolean NOT NULL DEFAULT true,
    created_at  timestamptz NOT NULL
);
COMMENT ON TABLE customers IS 'people who bought something once';
COMMENT ON COLUMN customers.credit IS 'in euros';
CREATE TABLE orders (
    id          bigint PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers,
    status      order_status NOT NULL,
    amount      numeric(12, 2) NOT NULL,
    note        text,
    placed_at   timestamp(3) NOT NULL,
    updated_at  timestamptz
);
CREATE TABLE order_items (
    order_id    bigint NOT NULL REFERENCES orders,
    line        int NOT NULL,
    sku         uuid NOT NULL,
    quantity    smallint NOT NULL,
    price       numeric(10, 2) NOT NULL,
    PRIMARY KEY (order_id, line)
);
CREATE TABLE samples (
    id          int PRIMARY KEY,
    weight      real,
    reading     double precision,
    exact       numeric,
    taken_on    date,
    taken_at    time(6),
    took        interval,
    device      inet,
    range       int4range,
    code        char(6),
    flags       bit(8),
    raw         bytea,
    series      int[],
    document    json
);
CREATE TABLE page_views (
    url         text NOT NULL,
    customer_id bigint,
    seen_at     timestamptz NOT NULL,
    milliseconds int
);
`

// shop makes rows and changes; the same seed makes the same ones.
type shop struct {
	rng       *rand.Rand
	start     time.Time
	customers int64
	orders    int64 // ids 1..orders exist, or existed
	samples   int64
}

func newShop(seed uint64) *shop {
	return &shop{rng: rand.New(rand.NewPCG(seed, 0x5eed)), start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// create makes the tables and fills them with about rows rows in all.
func (s *shop) create(ctx context.Context, conn *pgx.Conn, rows int) error {
	if _, err := conn.Exec(ctx, shopDDL); err != nil {
		return fmt.Errorf("create the shop: %w", err)
	}
	s.customers, s.orders, s.samples = max(int64(rows/10), 10), max(int64(rows*3/10), 10), max(int64(rows/20), 10)
	views := int64(rows / 10)
	items := make([][]any, 0, 2*s.orders)
	for id := int64(1); id <= s.orders; id++ {
		for line := range 1 + s.rng.IntN(2) {
			items = append(items, s.item(id, line+1))
		}
	}
	for _, t := range []struct {
		name    string
		columns []string
		n       int64
		row     func(id int64) []any
	}{
		{"customers", []string{"id", "email", "name", "credit", "tags", "profile", "active", "created_at"}, s.customers, s.customer},
		{"orders", []string{"id", "customer_id", "status", "amount", "note", "placed_at", "updated_at"}, s.orders, s.order},
		{"order_items", []string{"order_id", "line", "sku", "quantity", "price"}, int64(len(items)), func(i int64) []any { return items[i-1] }},
		{"page_views", []string{"url", "customer_id", "seen_at", "milliseconds"}, views, s.view},
	} {
		n := int64(0)
		_, err := conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromFunc(func() ([]any, error) {
			if n++; n > t.n {
				return nil, nil
			}
			return t.row(n), nil
		}))
		if err != nil {
			return fmt.Errorf("fill %s: %w", t.name, err)
		}
	}
	if _, err := conn.Exec(ctx, sampleInsert+` SELECT `+sampleValues+` FROM generate_series(1, $1::int) AS g(i)`, s.samples); err != nil {
		return fmt.Errorf("fill samples: %w", err)
	}
	return nil
}

// sampleInsert and sampleValues fill the table of assorted types on the server;
// odd values come by now and then.
const (
	sampleInsert = `INSERT INTO samples (id, weight, reading, exact, taken_on, taken_at, took, device, range, code, flags, raw, series, document)`
	sampleValues = `i, i * 0.5, CASE WHEN i % 97 = 0 THEN 'NaN' ELSE sqrt(i) END, i::numeric / 7,
	CASE WHEN i % 89 = 0 THEN NULL ELSE date '2026-01-01' + i % 365 END, time '00:00' + make_interval(secs => i % 86400),
	make_interval(days => i % 40, mins => i % 90), ('10.0.' || i % 256 || '.1')::inet, int4range(i, i + 10), 'S' || i % 10000,
	(i % 256)::bit(8), decode(md5(i::text), 'hex'), ARRAY[i, NULL, -i], json_build_object('i', i, 'text', 'größer' || i)`
)

func (s *shop) at() time.Time {
	return s.start.Add(time.Duration(s.rng.Int64N(1e12)) * time.Microsecond)
}

func (s *shop) cents(upTo int64) string {
	c := s.rng.Int64N(upTo)
	return fmt.Sprintf("%d.%02d", c/100, c%100)
}

var words = []string{"red", "blue", "wide", "small", "gift", "express", "fragile", "Straße", "señal", "寄付"}

func (s *shop) text(n int) string {
	out := ""
	for range n {
		out += words[s.rng.IntN(len(words))] + " "
	}
	return out
}

func (s *shop) customer(id int64) []any {
	var tags []string
	if s.rng.IntN(4) > 0 {
		tags = []string{words[s.rng.IntN(len(words))], words[s.rng.IntN(len(words))]}
	}
	profile := fmt.Sprintf(`{"visits": %d, "theme": %q}`, s.rng.IntN(1000), words[s.rng.IntN(len(words))])
	return []any{id, fmt.Sprintf("customer%d@example.com", id), s.text(2), numeric(s.cents(100_000)), tags, profile, s.rng.IntN(9) > 0, s.at()}
}

func (s *shop) order(id int64) []any {
	var note any
	if s.rng.IntN(3) > 0 {
		note = s.text(1 + s.rng.IntN(12))
	}
	status := []string{"new", "paid", "shipped"}[s.rng.IntN(3)]
	return []any{id, 1 + s.rng.Int64N(s.customers), status, numeric(s.cents(1_000_000)), note, s.at(), s.at()}
}

func (s *shop) item(order int64, line int) []any {
	var sku [16]byte
	for i := range sku {
		sku[i] = byte(s.rng.Uint32())
	}
	return []any{order, line, sku, 1 + s.rng.IntN(9), numeric(s.cents(50_000))}
}

func (s *shop) view(int64) []any {
	return []any{fmt.Sprintf("/product/%d", s.rng.IntN(500)), 1 + s.rng.Int64N(s.customers), s.at(), s.rng.IntN(3000)}
}
