package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var postgres = dialect{
	connect: connectPostgres,
	create: func(c Config) []string {
		return []string{postgresTables, fmt.Sprintf(postgresRows, InitialBalance, c.Accounts, c.Workers-1, c.Documents, c.Events)}
	},
	queries: queries{
		transfer: "UPDATE accounts SET balance = balance + $2::bigint / 100.00, version = version + 1, updated_at = clock_timestamp() WHERE id = $1",
		ledger:   "INSERT INTO ledger VALUES ($1, $2, $3, $4, $5::bigint / 100.00, clock_timestamp() AT TIME ZONE 'UTC')",
		progress: "UPDATE progress SET transfers = $2, events = $3, transactions = $4 WHERE worker = $1",
		touch:    "UPDATE accounts SET version = version + 1 WHERE id = $1",
		event:    "INSERT INTO events VALUES ($1::int, $2::bigint, $3, $4, md5($1 || ':' || $2))",

		strayAccount: "UPDATE accounts SET balance = balance + 1 WHERE id = $1",
		strayEvent:   "INSERT INTO events VALUES ($1, -1, 'never', NULL, '')",

		insert: `INSERT INTO documents VALUES ($1::bigint, $2::bigint, $3, $4, $5, $6::jsonb, $7, $8, $9, $10,
			DATE '1970-01-01' + $11::int, md5($1::text)::uuid, $12, md5($1::bigint || ':' || $2::bigint))`,
		remove:  "DELETE FROM documents WHERE id = $1",
		rekey:   "UPDATE documents SET id = $2::bigint, version = $3::bigint, checksum = md5($2::bigint || ':' || $3::bigint) WHERE id = $1",
		setBody: postgresSet + "body = $3 WHERE id = $1",
		setNull: postgresSet + "title = NULL, tags = NULL, meta = NULL, flag = NULL, day = NULL WHERE id = $1",
		setSome: postgresSet + "title = $3, score = $4, tags = $5, meta = jsonb_build_object('v', $2::bigint) WHERE id = $1",
	},
}

const postgresSet = "UPDATE documents SET version = $2::bigint, checksum = md5($1::bigint || ':' || $2::bigint), "

const postgresTables = `
CREATE TABLE accounts (
    id         bigint PRIMARY KEY,
    owner      varchar(40) NOT NULL,
    balance    numeric(18, 2) NOT NULL,
    version    bigint NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE TABLE ledger (
    worker int NOT NULL,
    seq    bigint NOT NULL,
    debit  bigint NOT NULL,
    credit bigint NOT NULL,
    amount numeric(18, 2) NOT NULL,
    at     timestamp(3) NOT NULL,
    PRIMARY KEY (worker, seq)
);
CREATE TABLE progress (
    worker       int PRIMARY KEY,
    transfers    bigint NOT NULL,
    events       bigint NOT NULL,
    transactions bigint NOT NULL
);
CREATE TABLE documents (
    id       bigint PRIMARY KEY,
    version  bigint NOT NULL,
    title    text,
    body     text,
    tags     text[],
    meta     jsonb,
    score    double precision,
    ratio    real,
    flag     boolean,
    raw      bytea,
    day      date,
    code     uuid,
    small    smallint,
    checksum text NOT NULL
);
-- Out of line whenever the row is wide, never compressed: an update that leaves
-- it alone does not send it.
ALTER TABLE documents ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE events (
    worker   int NOT NULL,
    seq      bigint NOT NULL,
    kind     text,
    payload  text,
    checksum text NOT NULL
);
`

const postgresRows = `
INSERT INTO accounts SELECT i, 'owner ' || i, %d, 1, '2026-01-01Z' FROM generate_series(1, %d) i;
INSERT INTO progress SELECT i, 0, 0, 0 FROM generate_series(0, %d) i;
INSERT INTO documents SELECT i, 1, 'title ' || i, repeat(md5(i::text), 1 + (i %% 4)::int * 32), ARRAY['a', NULL, 'ü' || i],
    jsonb_build_object('i', i), i / 7.0, (i / 3.0)::real, i %% 2 = 0, decode(md5(i::text), 'hex'),
    DATE '2000-01-01' + (i %% 9000)::int, md5(i::text)::uuid, (i %% 30000)::smallint, md5(i || ':1')
    FROM generate_series(1, %d) i;
INSERT INTO events SELECT -1, i, 'first', repeat('x', (i %% 50)::int), md5('-1:' || i) FROM generate_series(1, %d) i;
ANALYZE;`

// postgresSession is a connection to PostgreSQL.
type postgresSession struct{ conn *pgx.Conn }

func connectPostgres(ctx context.Context, url string, config Config) (session, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	s := postgresSession{conn}
	if err := s.script(ctx, config.Session); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s postgresSession) close() { s.conn.Close(context.Background()) }

func (s postgresSession) run(ctx context.Context, t *transaction) error {
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for _, st := range t.statements {
		batch.Queue(st.sql, st.args...)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if t.rollback {
		return tx.Rollback(ctx)
	}
	return tx.Commit(ctx)
}

func (s postgresSession) script(ctx context.Context, statements []string) error {
	for _, sql := range statements {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func (s postgresSession) transactions(ctx context.Context, worker int) (n int64, err error) {
	err = s.conn.QueryRow(ctx, "SELECT transactions FROM progress WHERE worker = $1", worker).Scan(&n)
	return n, err
}

// temporary: class 57 is a server that shuts down, class 40 a rollback by the server.
func (s postgresSession) temporary(err error) bool {
	var answer *pgconn.PgError
	return !errors.As(err, &answer) || strings.HasPrefix(answer.Code, "57") || strings.HasPrefix(answer.Code, "40")
}
