package debezium_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/keygroup"
	"github.com/freshet-cdc/freshet/runtime/state"
	"github.com/freshet-cdc/freshet/runtime/state/memory"
	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/source"
)

// lineages makes readers different replicas of a server.
var lineages atomic.Int64

// server is a database to run a case on.
type server interface {
	exec(statements []string) error
	// position is where the log ends.
	position() (uint64, error)
	source(options map[string]string) (source.Source, error)
	// id is the name that a table of the database has in the case.
	id(schema.TableID) schema.TableID
}

// log gathers what a source emits.
type log struct {
	mu       sync.Mutex
	elements []source.Element
	done     map[schema.TableID]bool
	changed  chan struct{}
}

func (l *log) Emit(_ context.Context, e source.Element) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.elements = append(l.elements, e)
	if e.Change != nil && e.Change.Kind == schema.ChangeSnapshotDone {
		l.done[e.Change.Table] = true
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return nil
}

func (l *log) Triggers() <-chan int64 { return nil }

func (l *log) Barrier(context.Context, int64, uint64, []byte) error { return nil }

func (l *log) await(ctx context.Context, what string, ended <-chan error, fn func() bool) error {
	timeout := time.NewTimer(60 * time.Second)
	defer timeout.Stop()
	again := time.NewTicker(5 * time.Millisecond) // a position moves without an element
	defer again.Stop()
	for {
		l.mu.Lock()
		ok := fn()
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-l.changed:
		case <-again.C:
		case err := <-ended:
			return fmt.Errorf("the reader ended: %w", err)
		case <-timeout.C:
			return fmt.Errorf("timed out waiting for %s", what)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// play runs a case and returns the messages without and with schemas.
func play(ctx context.Context, t *testing.T, c debeziumCase) (out [2][]record, err error) {
	s := openServer(t, c.server)
	if err := s.exec(c.setup); err != nil {
		return out, err
	}
	options := map[string]string{}
	if c.server == "mysql" {
		options["time.mode"], options["treat-tinyint1-as-boolean.enabled"] = "string", fmt.Sprint(c.properties["converters"] == "boolean")
		options["use.legacy.json.format"], options["geometry.mode"] = "false", "bytes"
	}
	if c.server == "postgres" && c.properties["decimal.handling.mode"] != "" {
		options["decimal.special-values"] = "keep"
	}
	if c.properties["snapshot.mode"] == "no_data" {
		options["scan.startup.mode"] = "latest-offset"
	}
	src, err := s.source(options)
	if err != nil {
		return out, err
	}
	defer src.Close()
	tables, err := src.Discover(ctx)
	if err != nil {
		return out, err
	}
	l, err := follow(ctx, t, c, s, src, tables)
	defer func() {
		for _, e := range l.elements {
			if e.Batch != nil {
				e.Batch.Release()
			}
		}
	}()
	if err != nil {
		return out, err
	}
	for i, schemas := range []bool{false, true} {
		if out[i], err = encode(c, s, l, schemas); err != nil {
			return out, err
		}
	}
	return out, nil
}

// follow lets the source read the case's log to its end.
func follow(ctx context.Context, t *testing.T, c debeziumCase, s server, src source.Source, tables []source.Table) (*log, error) {
	l := &log{done: map[schema.TableID]bool{}, changed: make(chan struct{}, 1)}
	store, err := memory.NewBackend(memory.Options{}).Open(ctx, state.Options{Dir: t.TempDir(), Operator: "source", KeyGroups: keygroup.Range{First: 0, Last: 127}})
	if err != nil {
		return l, err
	}
	defer store.Close()
	rc := source.Context{Pipeline: "test", Lineage: fmt.Sprintf("%s %d %d", t.Name(), os.Getpid(), lineages.Add(1)), Needs: source.Needs{Before: true, KeylessUpdates: true, ResolvesUnchanged: c.properties["post.processors"] == "", Reset: true, Origin: true, Events: true, Transactions: c.properties["provide.transaction.metadata"] == "true"}}
	rc.Store = func() (state.Store, error) { return store, nil }
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	reader := src.NewReader()
	go func() {
		_, err := reader.Run(ctx, rc, l)
		ended <- err
	}()
	finish := func(err error) (*log, error) {
		cancel()
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			err = errors.Join(err, errors.New("the reader does not end"))
		}
		return l, err
	}
	if c.properties["snapshot.mode"] == "no_data" {
		if err := l.await(ctx, "the start", ended, func() bool { return reader.Progress().Start != 0 }); err != nil {
			ended <- nil
			return finish(err)
		}
	} else if err := l.await(ctx, "the snapshots", ended, func() bool { return len(l.done) >= len(tables) }); err != nil {
		ended <- nil
		return finish(err)
	}
	if err := s.exec(c.changes); err != nil {
		return finish(err)
	}
	end, err := s.position()
	if err != nil {
		return finish(err)
	}
	if err := l.await(ctx, "the end", ended, func() bool { return reader.Progress().Position >= end }); err != nil {
		ended <- nil
		return finish(err)
	}
	return finish(nil)
}

// options are those of the case for the encoder.
func (c debeziumCase) options(schemas bool) debezium.Options {
	p := c.properties
	o := debezium.Options{Connector: debezium.MySQL, Prefix: p["topic.prefix"], Database: "vec", Schemas: schemas,
		Decimal: debezium.DecimalMode(p["decimal.handling.mode"]), Time: debezium.TimeMode(p["time.precision.mode"]),
		Binary: debezium.BinaryMode(p["binary.handling.mode"]), DecimalFormat: debezium.DecimalFormat(p["value.converter.decimal.format"]),
		Interval: debezium.IntervalMode(p["interval.handling.mode"]), Unsigned: debezium.UnsignedMode(p["bigint.unsigned.handling.mode"]),
		Hstore:    debezium.HstoreMode(p["hstore.handling.mode"]),
		KeepNulls: p["value.converter.replace.null.with.default"] == "false", NoTombstones: p["tombstones.on.delete"] == "false",
		Comments: p["include.schema.comments"] == "true", Placeholder: p["unavailable.value.placeholder"], UnknownTypes: p["include.unknown.datatypes"] == "true",
		Transactions: p["provide.transaction.metadata"] == "true", Query: p["include.query"] == "true", UniqueKeys: true}
	if c.server == "postgres" {
		o.Connector = debezium.PostgreSQL
	}
	if p["extended.headers.enabled"] != "false" {
		o.Context = &debezium.Context{Task: "0", Run: "0"}
	}
	for _, name := range list(p["transforms"]) {
		c.transform(&o, "transforms."+name+".")
	}
	o.SchemaNames, o.FieldNames = debezium.Adjustment(p["schema.name.adjustment.mode"]), debezium.Adjustment(p["field.name.adjustment.mode"])
	if s, ok := p["skipped.operations"]; ok {
		o.Skipped = []debezium.Operation{}
		for _, op := range strings.Split(s, ",") {
			if op != "none" {
				o.Skipped = append(o.Skipped, debezium.Operation(op[0]))
			}
		}
	}
	return o
}

// transform sets what a transform does, whose properties begin with prefix.
func (c debeziumCase) transform(o *debezium.Options, prefix string) {
	p := func(key string) string { return c.properties[prefix+key] }
	switch strings.TrimPrefix(p("type"), "io.debezium.transforms.") {
	case "ExtractNewRecordState":
		o.Flatten = &debezium.Flatten{Deletes: debezium.DeleteMode(p("delete.tombstone.handling.mode")), Fields: list(p("add.fields")), Headers: list(p("add.headers"))}
	case "outbox.EventRouter":
		o.Outbox = &debezium.Outbox{ID: p("table.field.event.id"), Key: p("table.field.event.key"), Payload: p("table.field.event.payload"), RouteBy: p("route.by.field"),
			Tombstones: p("route.tombstone.on.empty.payload") == "true"}
		for _, field := range list(p("table.fields.additional.placement")) {
			parts := strings.Split(field, ":")
			h := debezium.OutboxHeader{Column: parts[0]}
			if len(parts) > 2 {
				h.Name = parts[2]
			}
			o.Outbox.Headers = append(o.Outbox.Headers, h)
		}
	case "TimezoneConverter":
		o.Timezone, _ = time.LoadLocation(p("converted.timezone"))
	}
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// tableOptions are those of one table.
func (c debeziumCase) tableOptions(o *debezium.Options, id schema.TableID) {
	p := c.properties
	var err error
	if o.SourceType, err = debezium.SourceTypes(id, list(p["column.propagate.source.type"]), list(p["datatype.propagate.source.type"])); err != nil {
		panic(err)
	}
	for _, rule := range strings.Split(p["message.key.columns"], ";") {
		table, columns, _ := strings.Cut(rule, ":")
		if rule != "" && regexp.MustCompile("^("+table+")$").MatchString(id.Schema+"."+id.Table) {
			o.KeyColumns = strings.Split(columns, ",")
		}
	}
}

// router is the case's ByLogicalTableRouter, nil for none.
func (c debeziumCase) router() *debezium.Router {
	for _, name := range list(c.properties["transforms"]) {
		p := func(key string) string { return c.properties["transforms."+name+"."+key] }
		if p("type") != "io.debezium.transforms.ByLogicalTableRouter" {
			continue
		}
		r, err := debezium.NewRouter(p("topic.regex"), p("topic.replacement"), p("key.field.regex"), p("key.field.replacement"))
		if err != nil {
			panic(err)
		}
		r.KeyField, r.NoKeyField = p("key.field.name"), p("key.enforce.uniqueness") == "false"
		return &r
	}
	return nil
}
