package readers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// Engine is the software that scans a table.
type Engine string

// The engines of reader.py.
const (
	PyIceberg Engine = "pyiceberg"
	DuckDB    Engine = "duckdb"
)

// Reader is a running reader.py. It answers one request at a time.
type Reader struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *os.File
}

// Snapshot is one snapshot of an Iceberg table, in the order of the metadata.
type Snapshot struct {
	ID       int64 `json:"id"`
	Sequence int64 `json:"sequence"`
	// Milliseconds is when it was committed, since 1970 UTC.
	Milliseconds int64             `json:"milliseconds"`
	Summary      map[string]string `json:"summary"`
}

// Text is one value as reader.py prints it; nil is NULL.
type Text = *string

// request is one line for reader.py.
type request struct {
	Do       string         `json:"do"`
	Table    string         `json:"table,omitempty"`
	Snapshot int64          `json:"snapshot,omitempty"`
	Engine   Engine         `json:"engine,omitempty"`
	Columns  []string       `json:"columns,omitempty"`
	SQL      string         `json:"sql,omitempty"`
	Tables   map[string]Ref `json:"tables,omitempty"`
}

// Ref names a table, as of a snapshot when that is not 0.
type Ref struct {
	Table    string `json:"table"`
	Snapshot int64  `json:"snapshot,omitempty"`
}

// Open starts a reader on a SQL catalog called freshet; uri is SQLAlchemy's.
// The caller closes it.
func Open(ctx context.Context, uri, warehouse string) (*Reader, error) {
	python, err := servers.ReadersPython(ctx)
	if err != nil {
		return nil, err
	}
	root, err := servers.Root()
	if err != nil {
		return nil, err
	}
	r := &Reader{cmd: exec.Command(python, filepath.Join(root, "e2e", "readers", "reader.py"), uri, warehouse)}
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReaderSize(out, 1<<20)
	if r.stderr, err = os.CreateTemp("", "freshet-reader-*.err"); err != nil {
		return nil, err
	}
	r.cmd.Stderr = r.stderr
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("readers: start %s: %w", python, err)
	}
	return r, nil
}

// Close ends the process.
func (r *Reader) Close() error {
	r.in.Close()
	err := r.cmd.Wait()
	r.stderr.Close()
	os.Remove(r.stderr.Name())
	return err
}

// ErrRequest is wrapped by the errors that reader.py answers with.
var ErrRequest = errors.New("the reader can't answer")

// do sends a request and calls fn with each line of the answer. fn's first error
// is returned once the whole answer has been read.
func (r *Reader) do(req request, fn func(line []byte) error) error {
	data, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if _, err := r.in.Write(append(data, '\n')); err != nil {
		return r.broken(err)
	}
	var first error
	for {
		line, err := r.out.ReadBytes('\n')
		if err != nil {
			return r.broken(err)
		}
		switch {
		case string(line) == ".\n":
			return first
		case line[0] == '!':
			var message string
			if err := json.Unmarshal(line[1:], &message); err != nil {
				return r.broken(err)
			}
			return fmt.Errorf("readers: %s %s: %w: %s", req.Do, req.Table, ErrRequest, message)
		case first == nil:
			first = fn(line)
		}
	}
}

// broken adds what the process wrote on standard error.
func (r *Reader) broken(err error) error {
	text, _ := os.ReadFile(r.stderr.Name())
	return fmt.Errorf("readers: reader.py: %w: %s", err, text)
}

// Tables returns the names of all tables in the catalog.
func (r *Reader) Tables() ([]string, error) {
	var names []string
	err := r.do(request{Do: "tables"}, func(line []byte) error {
		var name string
		defer func() { names = append(names, name) }()
		return json.Unmarshal(line, &name)
	})
	return names, err
}

// Snapshots returns the snapshots of a table that were not expired.
func (r *Reader) Snapshots(table string) ([]Snapshot, error) {
	var all []Snapshot
	err := r.do(request{Do: "snapshots", Table: table}, func(line []byte) error {
		var s Snapshot
		err := json.Unmarshal(line, &s)
		all = append(all, s)
		return err
	})
	return all, err
}

// Properties returns the properties of a table.
func (r *Reader) Properties(table string) (map[string]string, error) {
	var properties map[string]string
	err := r.do(request{Do: "properties", Table: table}, func(line []byte) error {
		return json.Unmarshal(line, &properties)
	})
	return properties, err
}

// Columns returns the names of a table's columns in their order.
func (r *Reader) Columns(table string) (names []string, err error) {
	err = r.do(request{Do: "columns", Table: table}, func(line []byte) error {
		return json.Unmarshal(line, &names)
	})
	return names, err
}

// Rows calls fn for each row, in no order; columns are the same for all.
func (r *Reader) Rows(ref Ref, engine Engine, fn func(columns []string, row []Text) error) error {
	return r.table(request{Do: "rows", Table: ref.Table, Snapshot: ref.Snapshot, Engine: engine}, fn)
}

// SQL runs a query in DuckDB, where {name} stands for a table of the map, and
// returns its rows.
func (r *Reader) SQL(query string, tables map[string]Ref) ([][]Text, error) {
	var rows [][]Text
	err := r.table(request{Do: "sql", SQL: query, Tables: tables}, func(_ []string, row []Text) error {
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w (query: %s)", err, strings.Join(strings.Fields(query), " "))
	}
	return rows, nil
}

// table runs a request whose answer is a line of column names and a line a row.
func (r *Reader) table(req request, fn func(columns []string, row []Text) error) error {
	var columns []string
	return r.do(req, func(line []byte) error {
		if columns == nil {
			return json.Unmarshal(line, &columns)
		}
		row := make([]Text, 0, len(columns))
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		if len(row) != len(columns) {
			return fmt.Errorf("readers: %d values for %d columns", len(row), len(columns))
		}
		return fn(columns, row)
	})
}
