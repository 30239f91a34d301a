package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Check connects and verifies settings, privileges, tables, publications and
// slot, without changing anything. Each problem is an error of its own with the way out.
func (s *Source) Check(ctx context.Context) []error {
	conn, err := s.cfg.connect(ctx)
	if err != nil {
		return []error{err}
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := isPrimary(conn); err != nil {
		return []error{err}
	}
	c := &checker{cfg: s.cfg, conn: conn}
	if err := s.cfg.checkFailover(serverVersion(conn.PgConn())); err != nil {
		c.fail(err)
	}
	c.settings(ctx)
	c.role(ctx)
	c.slot(ctx)
	infos, err := discover(ctx, conn, s.cfg)
	if err != nil {
		return append(c.problems, err)
	}
	c.tables(infos)
	c.publications(ctx, infos)
	return c.problems
}

type checker struct {
	cfg      *config
	conn     *pgx.Conn
	problems []error
	create   bool // CREATE on the database
}

// bad records a problem of the given kind.
func (c *checker) bad(kind error, hint, format string, args ...any) {
	c.problems = append(c.problems, withHint(fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...)), "%s", hint))
}

func (c *checker) fail(err error) { c.problems = append(c.problems, err) }

// settings checks what the server's configuration must allow.
func (c *checker) settings(ctx context.Context) {
	var level, encoding string
	var senders, slots, usedSenders, usedSlots int
	var slotExists bool
	err := c.conn.QueryRow(ctx, `SELECT current_setting('wal_level'), current_setting('max_wal_senders')::int, current_setting('max_replication_slots')::int,
		(SELECT count(*) FROM pg_catalog.pg_stat_get_wal_senders()), (SELECT count(*) FROM pg_catalog.pg_replication_slots),
		EXISTS (SELECT FROM pg_catalog.pg_replication_slots WHERE slot_name = $1),
		(SELECT pg_encoding_to_char(encoding) FROM pg_catalog.pg_database WHERE datname = current_database())`, c.cfg.slot).
		Scan(&level, &senders, &slots, &usedSenders, &usedSlots, &slotExists, &encoding)
	if err != nil {
		c.fail(fmt.Errorf("read the server's settings: %w", err))
		return
	}
	if level != "logical" {
		c.bad(ErrServerUnsuitable, "ALTER SYSTEM SET wal_level = logical, then restart the server", "wal_level is %s", level)
	}
	if usedSenders >= senders {
		c.bad(ErrServerUnsuitable, "raise max_wal_senders, then restart the server", "all %d WAL senders are in use", senders)
	}
	if !slotExists && usedSlots >= slots {
		c.bad(ErrServerUnsuitable, "drop unused slots, or raise max_replication_slots and restart the server", "all %d replication slots are in use", slots)
	}
	if encoding == "SQL_ASCII" {
		c.bad(ErrServerUnsuitable, "move the data to a database with encoding UTF8", "the database's encoding is SQL_ASCII: its text has no known meaning")
	}
}

// role checks what the role may do.
func (c *checker) role(ctx context.Context) {
	var name string
	var replication, super bool
	// On managed services a role membership stands in for the attribute.
	err := c.conn.QueryRow(ctx, `SELECT r.rolname, r.rolreplication, r.rolsuper OR EXISTS (SELECT FROM pg_catalog.pg_roles m WHERE m.rolname IN ('rds_replication', 'rds_superuser') AND pg_has_role(r.oid, m.oid, 'MEMBER')),
		has_database_privilege(current_database(), 'CREATE') FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`).
		Scan(&name, &replication, &super, &c.create)
	if err != nil {
		c.fail(fmt.Errorf("read the role's privileges: %w", err))
		return
	}
	if !replication && !super {
		c.bad(ErrPrivilege, "ALTER ROLE "+quoteIdent(name)+" REPLICATION", "role %q may not replicate", name)
		return
	}
	repl, err := c.cfg.connectReplication(ctx)
	if err != nil {
		c.fail(err)
		return
	}
	_ = repl.Close(context.WithoutCancel(ctx))
}

func (c *checker) slot(ctx context.Context) {
	s, err := readSlot(ctx, c.conn, c.cfg.slot)
	if err == nil && s != nil && s.active {
		s.active = false // a running pipeline may be checked
	}
	if err == nil {
		err = c.cfg.checkSlot(s, 0)
	}
	if err != nil {
		c.fail(err)
	}
}

func (c *checker) tables(infos []tableInfo) {
	for _, t := range infos {
		if err := t.checkLeaves(); err != nil {
			c.fail(err)
		}
		if !t.CanSelect {
			c.bad(ErrPrivilege, fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s; GRANT SELECT ON %s TO %s", quoteIdent(t.Schema.ID.Schema), quoteIdent(c.cfg.conn.pg.User),
				quoteTable(t.Schema.ID), quoteIdent(c.cfg.conn.pg.User)), "table %s can't be read", t.Schema.ID)
		}
	}
}

// publications checks that they fit, or could be made.
func (c *checker) publications(ctx context.Context, infos []tableInfo) {
	for _, need := range c.cfg.publicationNeeds(infos) {
		p, err := readPublication(ctx, c.conn, need.name)
		if err != nil {
			c.fail(err)
			continue
		}
		if p.exists {
			c.problems = append(c.problems, p.problems(need)...)
		}
		missing := p.missing(need)
		if len(missing) == 0 {
			continue
		}
		sql := need.create()
		if p.exists {
			sql = need.add(missing)
		}
		if !c.cfg.autocreate {
			c.fail(&PublicationError{Publication: need.name, Problem: "it lacks " + tableNames(missing), Hint: sql})
			continue
		}
		c.mayPublish(need, p.exists, missing, sql)
	}
}

// mayPublish checks the privileges for creating or extending a publication.
func (c *checker) mayPublish(need publicationNeed, exists bool, missing []tableInfo, sql string) {
	if !exists && !c.create {
		c.bad(ErrPrivilege, fmt.Sprintf("GRANT CREATE ON DATABASE %s TO %s, or publication.autocreate.mode: disabled and %s", quoteIdent(c.cfg.database), quoteIdent(c.cfg.conn.pg.User), sql),
			"publication %s can't be created", strconv.Quote(need.name))
	}
	for _, t := range missing {
		if !t.CanOwn {
			c.bad(ErrPrivilege, fmt.Sprintf("make %s a member of %s, or publication.autocreate.mode: disabled and, as owner, %s", quoteIdent(c.cfg.conn.pg.User), quoteIdent(t.Owner), sql),
				"table %s is owned by %q, only its owner may publish it", t.Schema.ID, t.Owner)
		}
	}
}
