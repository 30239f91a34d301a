package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	"github.com/freshet-cdc/freshet/pipeline/compose"
	"github.com/freshet-cdc/freshet/pipeline/document"
	"github.com/freshet-cdc/freshet/pipeline/match"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/source"
)

// Options change how a document is opened. The zero value is for production.
type Options struct {
	// Kinds are the sources and sinks; Builtin() when empty.
	Kinds       Kinds
	Environment document.Environment
	// Logger gets what happens, with the document's secrets taken out;
	// slog.Default() when nil.
	Logger *slog.Logger
	// Reached marks named points for crash tests; nil in production.
	Reached func(point string)
}

// Pipeline is a document whose source and sink have been made, but not yet
// connected. It runs once.
type Pipeline struct {
	Document *document.Document
	Source   source.Source
	Sink     sink.Sink

	sourceKind SourceKind
	sinkKind   SinkKind
	router     *match.Router
	logger     *slog.Logger
	reached    func(string)

	mu      sync.Mutex
	job     *compose.Job
	cancel  context.CancelFunc // of the checks before the job
	stopped bool
}

// Open reads a document and makes its source and sink, without connecting to
// anything. Whatever is wrong with the document is a [document.Problems].
func Open(file string, o Options) (*Pipeline, error) {
	if o.Kinds.Sources == nil {
		o.Kinds = Builtin()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	doc, err := document.Load(file, o.Kinds.document(), o.Environment)
	var problems document.Problems
	if err != nil && (!errors.As(err, &problems) || doc == nil) {
		return nil, err
	}
	p := &Pipeline{
		Document: doc, reached: o.Reached, sourceKind: o.Kinds.Sources[doc.Source.Type], sinkKind: o.Kinds.Sinks[doc.Sink.Type],
		logger: slog.New(redacting{o.Logger.Handler(), doc.Redact}).With("pipeline", doc.Pipeline.Name),
	}
	if err := p.make(problems); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// make makes router, source and sink of what is valid in the document, and adds
// everything that is wrong to the problems that were found before.
func (p *Pipeline) make(problems document.Problems) error {
	router, problem := p.makeRouter()
	if problem != nil {
		problems = append(problems, *problem)
	}
	p.router = router
	captured, more := p.captured()
	problems = append(problems, more...)
	problems = append(problems, p.makeSink()...)
	if p.Document.Source.Valid {
		src, err := p.sourceKind.New(p.Document.Source.Options, captured, p.logger)
		if err != nil && !(len(more) > 0 && isDatabase(err)) {
			problems = append(problems, p.optionProblem(p.Document.Source, err))
		}
		p.Source = src
	}
	return document.Sorted(problems...)
}

// makeSink makes the sink and tells it of the rest of the document, which it may refuse.
// It comes before the source, whose defaults it has a say in.
func (p *Pipeline) makeSink() (problems []document.Problem) {
	if !p.Document.Sink.Valid {
		return nil
	}
	snk, err := p.sinkKind.New(p.Document.Sink.Options, p.logger)
	p.Sink = snk
	if err != nil {
		return []document.Problem{p.optionProblem(p.Document.Sink, err)}
	}
	if retaining, ok := snk.(sink.Retaining); ok {
		if err := retaining.CheckRetained(p.Document.Pipeline.RetainedCheckpoints); err != nil {
			problems = append(problems, p.retainedProblem(err))
		}
	}
	if timed, ok := snk.(sink.Timed); ok {
		if err := timed.CheckTimes(p.Document.Pipeline.CheckpointInterval, p.Document.Pipeline.CheckpointTimeout); err != nil {
			problems = append(problems, p.optionProblem(p.Document.Sink, err))
		}
	}
	if sourced, ok := snk.(sink.Sourced); ok && p.Document.Source.Valid {
		options := p.Document.Source.Options
		sourced.SetSource(p.Document.Source.Type, options["database"])
		for key, value := range sourced.SourceDefaults() {
			if _, given := options[key]; !given {
				options[key] = value
			}
		}
	}
	return problems
}

// retainedProblem places an option of the sink that does not go with the number of
// retained checkpoints: at the option, or at the number where that alone is given.
func (p *Pipeline) retainedProblem(err error) document.Problem {
	problem := p.optionProblem(p.Document.Sink, err)
	key, at, given := p.Document.RetainedPlace()
	if bad := (*sink.OptionError)(nil); given && errors.As(err, &bad) && !p.Document.Sink.Gives(bad.Key) {
		problem.Place, problem.Msg = at, fmt.Sprintf("%q: %s", key, bad.Msg)
	}
	return problem
}

// isDatabase says that an option is missing that a valid value of tables would set.
func isDatabase(err error) bool {
	var bad *source.OptionError
	return errors.As(err, &bad) && bad.Key == "database"
}

// makeRouter compiles the routes.
func (p *Pipeline) makeRouter() (*match.Router, *document.Problem) {
	var rules []match.Rule
	for _, r := range p.Document.Routes {
		if r.SourceTable == "" || r.SinkTable == "" {
			return nil, nil // reported already
		}
		rules = append(rules, match.Rule{Source: r.SourceTable, Sink: r.SinkTable, Symbol: r.ReplaceSymbol})
	}
	router, err := match.NewRouter(rules, p.Document.Pipeline.FirstMatch)
	if bad := (*match.RuleError)(nil); errors.As(err, &bad) {
		route := p.Document.Routes[bad.Index]
		at, key := route.SourcePlace, "source-table"
		if bad.Sink {
			at, key = route.SinkPlace, "sink-table"
		}
		cause := bad.Err.Error()
		if route.Substituted {
			cause = "it is no valid pattern; it is not shown, for it comes from outside the document"
		}
		return nil, &document.Problem{Place: at, Msg: fmt.Sprintf("%q: %s", key, cause)}
	}
	return router, nil
}

// captured returns the function that selects tables by tables and
// tables.exclude. For a source of one database it also sets the option database.
func (p *Pipeline) captured() (func(schema.TableID) bool, []document.Problem) {
	block := p.Document.Source
	var problems []document.Problem
	parse := func(key string) *match.Selectors {
		text, given := block.Options[key]
		if !given {
			return nil
		}
		s, err := match.ParseSelectors(text)
		if err != nil {
			problems = append(problems, block.Problem(key, fmt.Sprintf("%q: %s", key, block.Detail(key, err)), ""))
			return nil
		}
		return s
	}
	tables, exclude := parse("tables"), parse("tables.exclude")
	if tables != nil && p.sourceKind.OneDatabase {
		if problem := p.oneDatabase(tables); problem != nil {
			problems = append(problems, *problem)
		}
		tables = tables.InAnyDatabase()
		if exclude != nil {
			exclude = exclude.InAnyDatabase()
		}
	}
	return func(id schema.TableID) bool {
		return (tables == nil || tables.Match(id)) && (exclude == nil || !exclude.Match(id))
	}, problems
}

// oneDatabase sets the option database from tables, and checks that both agree.
func (p *Pipeline) oneDatabase(tables *match.Selectors) *document.Problem {
	block := p.Document.Source
	problem := func(hint, format string, args ...any) *document.Problem {
		out := block.Problem("tables", fmt.Sprintf(format, args...), hint)
		return &out
	}
	name, err := tables.Database()
	given := block.Options["database"]
	switch {
	case err != nil:
		return problem("write one pipeline for each database", "%q: %s", "tables", block.Detail("tables", err))
	case tables.Fewest() == 1:
		return problem("write database.schema.table", "%q: %q has a single part", "tables", block.Options["tables"])
	case name == "" && given == "" && block.Options["url"] == "":
		return problem(`write database.schema.table, for instance shop.public.\.*`, "%q: %q names no database", "tables", block.Options["tables"])
	case name != "" && given != "" && name != given:
		return problem("", "%q is of database %s, but the option database is %s", "tables", block.Part("tables", strconv.Quote(name)), block.Part("database", strconv.Quote(given)))
	case name != "" && given == "":
		block.Options["database"] = name
	}
	return nil
}

// optionProblem gives the error of a source's or sink's options its place.
func (p *Pipeline) optionProblem(b document.Block, err error) document.Problem {
	key, msg, hint := "", err.Error(), ""
	if bad := (*source.OptionError)(nil); errors.As(err, &bad) {
		key, msg, hint = bad.Key, fmt.Sprintf("%q: %s", bad.Key, bad.Msg), bad.Hint
	}
	if bad := (*sink.OptionError)(nil); errors.As(err, &bad) {
		key, msg, hint = bad.Key, fmt.Sprintf("%q: %s", bad.Key, bad.Msg), bad.Hint
	}
	return b.Problem(key, p.Document.Redact(msg), p.Document.Redact(hint))
}

// Redact takes the document's secrets out of text, for instance of an error.
func (p *Pipeline) Redact(text string) string { return p.Document.Redact(text) }

// Close ends the connections of source and sink.
func (p *Pipeline) Close() error {
	var errs []error
	if p.Source != nil {
		errs = append(errs, p.Source.Close())
	}
	if p.Sink != nil {
		errs = append(errs, p.Sink.Close())
	}
	return errors.Join(errs...)
}
