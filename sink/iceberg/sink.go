package iceberg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	sqlcat "github.com/apache/iceberg-go/catalog/sql"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
)

// Sink is an Iceberg catalog and warehouse. It implements [sink.Sink] and is safe
// for concurrent use.
type Sink struct {
	opts   options
	logger *slog.Logger

	// wrap, where tests set it, puts faults between the committer and the catalog.
	wrap func(store) store

	mu  sync.Mutex
	cat *sqlcat.Catalog
	db  *sql.DB

	positionsMu sync.Mutex
	known       map[string]uint64 // see positions
	knownAt     time.Time
}

var _ sink.Sink = (*Sink)(nil)

// Kind returns iceberg.
func (s *Sink) Kind() string { return "iceberg" }

// catalog opens the catalog on first use. Its calls take commit.timeout at most.
func (s *Sink) catalog(ctx context.Context) (store, error) {
	cat, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	var st store = cat
	if s.wrap != nil {
		st = s.wrap(cat)
	}
	return timedStore{st, s.opts}, nil
}

func (s *Sink) open(ctx context.Context) (*sqlcat.Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cat == nil {
		cat, db, err := openCatalog(ctx, s.opts)
		if err != nil {
			return nil, err
		}
		s.cat, s.db = cat, db
	}
	return s.cat, nil
}

// Check opens the catalog and tries that the warehouse can be written. The
// catalog database and the warehouse folder are made when they are missing.
func (s *Sink) Check(ctx context.Context) []error {
	var problems []error
	cat, err := s.catalog(ctx)
	if err == nil {
		_, err = cat.ListNamespaces(ctx, nil)
	}
	if err != nil {
		problems = append(problems, &sink.OptionError{Key: optURI, Msg: fmt.Sprintf("the catalog can't be used: %v", err), Hint: "check the path or server, and that this user may write there"})
	}
	path, err := localPath(s.opts.warehouse)
	if err == nil {
		err = tryFolder(path)
	}
	if err != nil {
		problems = append(problems, &sink.OptionError{Key: optWarehouse, Msg: fmt.Sprintf("the warehouse can't be written: %v", err), Hint: "check the path, its permissions and the space on the disk"})
	}
	return problems
}

func tryFolder(path string) error {
	if err := makeFolder(path); err != nil {
		return err
	}
	// Always the same name: what a crash leaves here, the next check removes.
	name := filepath.Join(path, ".freshet-check")
	err := os.WriteFile(name, []byte("freshet"), 0o644)
	if gone := os.Remove(name); !errors.Is(gone, fs.ErrNotExist) { // by another process that checks
		err = errors.Join(err, gone)
	}
	return err
}

// NewWriter returns the writer of one subtask.
func (s *Sink) NewWriter(ctx context.Context, sc sink.Context) (sink.Writer, error) {
	w, err := newWriter(ctx, writerConfig{
		FS: durableFS{}, Location: s.opts.location, Mode: s.opts.mode, TargetFileSize: s.opts.targetFileSize, MaxOpenFiles: s.opts.maxOpenFiles,
		BufferBytes: s.opts.bufferBytes, CompressionLevel: s.opts.compressionLevel, TemporalInfinity: s.opts.infinity,
	}, sc)
	if err != nil {
		return nil, err // not a nil *writer in an interface
	}
	return w, nil
}

// NewCommitter opens the catalog and brings every table of the pipeline to the restored
// checkpoint: what it holds is committed, tables ahead of it are rolled back. What
// stands against that is a [*StateError] with the way out.
func (s *Sink) NewCommitter(ctx context.Context, sc sink.Context) (sink.Committer, error) {
	st, err := s.catalog(ctx)
	if err != nil {
		return nil, err
	}
	logger := sc.Logger
	if logger == nil {
		logger = s.logger
	}
	c, err := newCommitter(ctx, s.opts, st, sc, logger)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AnyWriter implements [sink.Spreading]: a changelog needs the writer of a key only
// where rows leave cells out, which are found by key.
func (s *Sink) AnyWriter(t *schema.Table) bool { return !needsIndex(modeOf(s.opts.mode, t), t) }

// Describe says what a source table becomes. A table that can't be held is an [*EvolveError].
func (s *Sink) Describe(t *schema.Table, target schema.TableID) (sink.Description, error) {
	mode := modeOf(s.opts.mode, t)
	staged, err := newStagedSchema(t, target, mode)
	if err != nil {
		return sink.Description{}, err
	}
	d := sink.Description{Target: target.String(), Mode: mode.String()}
	if mode != s.opts.mode {
		d.Notes = append(d.Notes, "a table without a key is written as a changelog")
	}
	for i, c := range t.Columns {
		f := staged.Iceberg.Field(i)
		d.Columns = append(d.Columns, sink.DescribedColumn{Name: c.Name, SourceType: c.Source.Name, Type: c.Type.String(), SinkType: f.Type.String(), Note: s.note(c.Type)})
	}
	for _, f := range staged.Iceberg.Fields()[len(t.Columns):] {
		d.Columns = append(d.Columns, sink.DescribedColumn{Name: f.Name, SinkType: f.Type.String(), Note: f.Doc})
	}
	return d, nil
}

// note says what is lost or looks different in Iceberg.
func (s *Sink) note(t schema.Type) string {
	infinity := map[infinityMode]string{infinityClamp: "become the nearest value that fits", infinityNull: "become NULL", infinityError: "are an error"}[s.opts.infinity]
	switch t.Kind {
	case schema.KindDecimal:
		if t.Precision > maxDecimalPrecision {
			return "as text: Iceberg's decimals end at 38 digits"
		}
	case schema.KindNumeric:
		return "as text: digits without a limit"
	case schema.KindDate, schema.KindTimestamp, schema.KindTimestampLTZ:
		return "infinite values " + infinity
	case schema.KindTime:
		return "24:00:00 would " + map[infinityMode]string{infinityClamp: "become 23:59:59.999999", infinityNull: "become NULL", infinityError: "be an error"}[s.opts.infinity]
	case schema.KindInterval, schema.KindTimeTZ, schema.KindTimestampTZ, schema.KindJSON:
		return "as text"
	}
	return ""
}

// Close closes the catalog. Writers and committers must be closed before.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cat == nil {
		return nil
	}
	err := errors.Join(s.cat.Close(), s.db.Close())
	s.cat, s.db = nil, nil
	return err
}
