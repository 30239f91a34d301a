package binlog

import (
	"bytes"
	"fmt"

	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// maxStatement bounds a compressed statement: max_allowed_packet's upper limit.
const maxStatement = 1 << 30

// queryEvent takes a statement: the frame of a transaction, or anything that is in
// the log as text.
func (s *scanner) queryEvent(h event.Header, body []byte) (verdict, error) {
	q := &s.query
	if h.Type == event.ExecuteLoadType {
		if err := q.ParseExecuteLoad(s.format, body); err != nil {
			return goOn, err
		}
	} else if err := q.Parse(s.format, body); err != nil {
		return goOn, err
	}
	if h.Type == event.QueryCompressedType {
		var err error
		if s.sql, err = s.inflate.Inflate(s.sql[:0], q.SQL, maxStatement); err != nil {
			return goOn, err
		}
		q.SQL = s.sql
	}
	sql := bytes.TrimSpace(q.SQL)
	switch {
	case len(sql) == 0:
		return goOn, s.plain(h)
	case keyword(sql, "BEGIN"):
		return goOn, s.beginQuery(h)
	case keyword(sql, "COMMIT"):
		return goOn, s.commit()
	case keyword(sql, "ROLLBACK", "TO"):
		name := bytes.TrimSpace(sql[len("ROLLBACK"):])[len("TO"):]
		if keyword(name, "SAVEPOINT") {
			name = bytes.TrimSpace(name)[len("SAVEPOINT"):]
		}
		return goOn, s.rollbackTo(savepointName(name))
	case keyword(sql, "ROLLBACK"):
		return goOn, s.rollback()
	case keyword(sql, "SAVEPOINT"):
		s.setSavepoint(savepointName(sql[len("SAVEPOINT"):]))
		return goOn, nil
	case keyword(sql, "XA"):
		return s.xaQuery(h, sql)
	}
	return s.statementQuery(h, q)
}

// beginQuery begins a transaction, unless its GTID did.
func (s *scanner) beginQuery(h event.Header) error {
	if s.inTx && s.explicit {
		return fmt.Errorf("%w: a transaction begins inside another one", ErrStream)
	}
	if !s.inTx {
		if err := s.startTransaction(h, GTID{}, 0); err != nil {
			return err
		}
	}
	s.explicit = true
	s.noteThread(s.query.ThreadID)
	return nil
}

// statementQuery takes a statement that is no part of a transaction's frame.
func (s *scanner) statementQuery(h event.Header, q *event.Query) (verdict, error) {
	if !s.inTx {
		if err := s.startTransaction(h, GTID{}, 0); err != nil {
			return goOn, err
		}
	}
	// MariaDB's ALTER in two phases changes the table when the second one says so.
	undone := (s.alter|q.AlterFlags)&(event.ExtraStartAlter|event.ExtraRollbackAlter) != 0
	if undone || s.skipped || s.passing() {
		return goOn, s.plain(h)
	}
	before := s.catalog
	catalog, effects, err := s.statement(before, q, s.tx.start, s.at())
	if err != nil {
		return goOn, err
	}
	if catalog != before {
		s.catalog = catalog
		s.forget()
	}
	s.group.effects, s.group.effectsOf = effects, s.tx
	if err := s.plain(h); err != nil {
		return goOn, err
	}
	if len(effects) > 0 || catalog != before {
		return cutAfter, nil
	}
	return goOn, nil
}

// plain ends a transaction that has one statement and no COMMIT.
func (s *scanner) plain(h event.Header) error {
	if !s.inTx { // an empty statement
		s.outside()
		return nil
	}
	if !s.explicit {
		s.endTransaction()
	}
	return nil
}
