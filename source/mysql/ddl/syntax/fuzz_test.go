package syntax

import (
	"errors"
	"testing"
	"unicode/utf8"
)

var fuzzSeeds = []string{
	"CREATE TABLE `a``b` (id INT PRIMARY KEY, b VARCHAR(10) DEFAULT 'x\\'y' COMMENT \"q\", KEY (b(3), (id + 1)), CONSTRAINT c FOREIGN KEY (b) REFERENCES d.t (x)) ENGINE=InnoDB",
	"ALTER TABLE t ADD COLUMN (a INT, b ENUM('x','y')), DROP c, CHANGE d e BIGINT AFTER f, RENAME TO g, ALGORITHM=INPLACE",
	"/*!50000 ALTER TABLE t /* x */ ADD c INT */ /*M!100100 , DROP d */ -- end",
	"RENAME TABLE a TO b, c.d TO e", "TRUNCATE t", "DROP TABLE IF EXISTS a, b", "CREATE DATABASE d CHARSET utf8", "SET STATEMENT a=(1) FOR DROP INDEX i ON t",
	"CREATE UNIQUE INDEX i USING BTREE ON t (a DESC) COMMENT 'x' ALGORITHM=COPY", "UPDATE a, b SET x = 1", "CREATE TABLE t (a INT DEFAULT CASE WHEN 1 THEN 2 END) PARTITION BY HASH (a) SELECT 1",
	"ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u, CONVERT TO CHARACTER SET x'61'", "CREATE TABLE t (a DOUBLE PRECISION, b NATIONAL CHAR VARYING(3), c LONG VARBINARY, d SET(0x61))",
}

func options(flags byte) Options {
	return Options{MariaDB: flags&1 != 0, Version: []int{80400, 101118}[flags&1], ANSIQuotes: flags&2 != 0, NoBackslashEscapes: flags&4 != 0}
}

// FuzzLexer: tokens lie one behind the other, and there is an end.
func FuzzLexer(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(s, byte(i))
	}
	f.Fuzz(func(t *testing.T, sql string, flags byte) {
		l := lexer{sql: sql, o: options(flags)}
		at := 0
		for {
			k := l.next()
			if k.Pos < at && k.Kind != Broken || k.End < k.Pos || k.End > len(sql) {
				t.Fatalf("token %+v behind %d of %d", k, at, len(sql))
			}
			if k.Kind == End || k.Kind == Broken {
				return
			}
			if k.End == k.Pos {
				t.Fatalf("token %+v is empty", k)
			}
			if utf8.ValidString(sql) && !utf8.ValidString(k.Text) {
				t.Fatalf("token %+v is cut in a character", k)
			}
			at = k.End
		}
	})
}

// FuzzParse: a statement or an *Error comes back, whatever the text.
func FuzzParse(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(s, byte(i))
	}
	f.Fuzz(func(t *testing.T, sql string, flags byte) {
		s, err := Parse(sql, options(flags))
		var e *Error
		if err != nil && (!errors.As(err, &e) || s != nil || e.Offset < 0 || e.Offset > len(sql) || e.Error() == "") {
			t.Fatalf("%v, %v", s, err)
		}
		if a, ok := s.(*AlterTable); ok {
			for _, p := range a.Parts {
				if p.Kind == 0 || p.Kind == AddKey && len(p.Key.Parts) == 0 {
					t.Fatalf("part %+v", p)
				}
			}
		}
	})
}
