package pipeline

import (
	"log/slog"

	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/iceberg"
	"github.com/freshet-cdc/freshet/sink/kafka"
	"github.com/freshet-cdc/freshet/source"
	kafkasource "github.com/freshet-cdc/freshet/source/kafka"
	"github.com/freshet-cdc/freshet/source/mysql"
	"github.com/freshet-cdc/freshet/source/postgres"
)

// Kinds are the types of source and sink that documents may name.
type Kinds struct {
	Sources map[string]SourceKind
	Sinks   map[string]SinkKind
}

// SourceKind is one type of source.
type SourceKind struct {
	Specs func() []source.OptionSpec
	// New makes the source, without connecting; match selects captured tables. A
	// bad option is a *source.OptionError.
	New func(opts map[string]string, match func(schema.TableID) bool, logger *slog.Logger) (source.Source, error)
	// OneDatabase says that the source reads one database, the first of the
	// three parts of tables, given by the option database as well.
	OneDatabase bool
	// Permanent are the errors that another attempt can't cure.
	Permanent []error
}

// SinkKind is one type of sink.
type SinkKind struct {
	Specs func() []sink.OptionSpec
	// New makes the sink, without connecting. A bad option is a *sink.OptionError.
	New func(opts map[string]string, logger *slog.Logger) (sink.Sink, error)
	// Needs is what the sink can use of a source.
	Needs source.Needs
	// Permanent are the errors that another attempt can't cure.
	Permanent []error
}

// Builtin returns the kinds that freshet has.
func Builtin() Kinds {
	return Kinds{
		Sources: map[string]SourceKind{
			"mysql":    mysqlKind,
			"mariadb":  mysqlKind,
			"kafka":    {Specs: kafkasource.Specs, New: newSource(kafkasource.New), Permanent: kafkasource.Permanent()},
			"postgres": {Specs: postgres.Specs, New: newSource(postgres.New), OneDatabase: true, Permanent: postgresPermanent},
		},
		Sinks: map[string]SinkKind{
			"kafka":   {Specs: kafka.Specs, New: newSink(kafka.New), Needs: source.Needs{Before: true, KeylessUpdates: true}, Permanent: kafka.Permanent()},
			"iceberg": {Specs: iceberg.Specs, New: newSink(iceberg.New), Needs: source.Needs{KeylessUpdates: true, ResolvesUnchanged: true, Reset: true}},
		},
	}
}

// mysqlKind serves MySQL and MariaDB alike.
var mysqlKind = SourceKind{Specs: mysql.Specs, New: newSource(mysql.New), Permanent: mysql.Permanent()}

// postgresPermanent leaves out ErrConnect and ErrSlotActive: both pass by
// themselves, when a server is back or another session has ended.
var postgresPermanent = []error{
	postgres.ErrServerUnsuitable, postgres.ErrAuthentication, postgres.ErrPrivilege, postgres.ErrSlotMissing, postgres.ErrSlotLost, postgres.ErrSlotAhead,
	postgres.ErrSlotForeign, postgres.ErrPublication, postgres.ErrSchemaChange, postgres.ErrValue, postgres.ErrNoTables, postgres.ErrState,
}

// newSource hides the concrete type, and a nil of it.
func newSource[S source.Source](make func(map[string]string, func(schema.TableID) bool, *slog.Logger) (S, error)) func(map[string]string, func(schema.TableID) bool, *slog.Logger) (source.Source, error) {
	return func(opts map[string]string, match func(schema.TableID) bool, logger *slog.Logger) (source.Source, error) {
		s, err := make(opts, match, logger)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

func newSink[S sink.Sink](make func(map[string]string, *slog.Logger) (S, error)) func(map[string]string, *slog.Logger) (sink.Sink, error) {
	return func(opts map[string]string, logger *slog.Logger) (sink.Sink, error) {
		s, err := make(opts, logger)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// document returns the kinds as a document is checked against.
func (k Kinds) document() document.Kinds {
	out := document.Kinds{Sources: map[string][]document.Option{}, Sinks: map[string][]document.Option{}}
	for name, kind := range k.Sources {
		for _, spec := range kind.Specs() {
			out.Sources[name] = append(out.Sources[name], document.Option(spec))
		}
	}
	for name, kind := range k.Sinks {
		for _, spec := range kind.Specs() {
			out.Sinks[name] = append(out.Sinks[name], document.Option(spec))
		}
	}
	return out
}
