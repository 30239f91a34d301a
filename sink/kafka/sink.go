package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/debezium"
	"github.com/freshet-cdc/freshet/sink/kafka/producer"
	"github.com/freshet-cdc/freshet/sink/kafka/topic"
	"github.com/freshet-cdc/freshet/sink/kafka/txn"
)

// Sink is a Kafka cluster. It implements [sink.Sink] and is safe for concurrent use.
type Sink struct {
	opts   options
	logger *slog.Logger
	now    func() time.Time

	mu        sync.Mutex
	connector debezium.Connector // the source's
	database  string
	session   *session      // of the present execution
	patience  time.Duration // how long a checkpoint may take
}

var (
	_ sink.Sink      = (*Sink)(nil)
	_ sink.Sourced   = (*Sink)(nil)
	_ sink.Timed     = (*Sink)(nil)
	_ sink.Retaining = (*Sink)(nil)
)

// New returns the sink that opts describe. Nothing is opened yet. A bad option is a
// [*sink.OptionError].
func New(opts map[string]string, logger *slog.Logger) (*Sink, error) {
	o, err := parseOptions(opts)
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s := &Sink{opts: o, logger: logger, now: time.Now, patience: defaultPatience}
	if o.format.avro.registry != nil {
		o.format.avro.registry.SetLogger(logger)
	}
	probe := o.format // what options mean together, on a table that has nothing
	if probe.debezium.Connector == "" {
		probe.debezium.Connector = debezium.MySQL
	}
	if _, err := probe.encoder(&schema.Table{}, "probe"); err != nil {
		if bad := (*sink.OptionError)(nil); !errors.As(err, &bad) {
			err = &sink.OptionError{Key: "debezium.unwrap", Msg: err.Error()}
		}
		return nil, err
	}
	return s, nil
}

// Kind returns kafka.
func (s *Sink) Kind() string { return "kafka" }

// SetSource says which kind of source feeds the sink, and from which database: messages
// look like those of its connector, where options don't say otherwise. It comes before
// everything else.
func (s *Sink) SetSource(kind, database string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connector, s.database = debezium.Connector(kind), database
	if kind == "postgres" {
		s.connector = debezium.PostgreSQL
	}
}

// SourceDefaults returns what lets the Debezium format show values as Debezium does: MySQL's
// TIME beyond a day, TINYINT(1) as a number, JSON as the server prints it.
func (s *Sink) SourceDefaults() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.opts.format
	switch {
	case s.connector != debezium.MySQL && s.connector != debezium.MariaDB:
		if f.envelopes() && f.debezium.Decimal != debezium.DecimalPrecise {
			return map[string]string{"decimal.special-values": "keep"}
		}
		return nil
	case !f.envelopes():
		return map[string]string{"time.mode": "string", "treat-tinyint1-as-boolean.enabled": "false", "use.legacy.json.format": "false"}
	}
	return map[string]string{"time.mode": "string", "treat-tinyint1-as-boolean.enabled": "false", "use.legacy.json.format": "false", "geometry.mode": "bytes"}
}

// CheckRetained wants a checkpoint to go back to when the broker gives up the
// transaction of the newest one.
func (s *Sink) CheckRetained(checkpoints int) error {
	if s.opts.guarantee != exactlyOnce || checkpoints >= minRetained {
		return nil
	}
	return &sink.OptionError{Key: optGuarantee, Msg: fmt.Sprintf("exactly-once needs %d retained checkpoints, for the broker may give up the transaction of the newest one", minRetained),
		Hint: "set execution.checkpointing.num-retained higher"}
}

// minRetained is a checkpoint that is committed, and one that may be lost.
const minRetained = 2

// format returns the format with what the source says.
func (s *Sink) format() format {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.opts.format
	if f.debezium.Connector == "" {
		f.debezium.Connector = s.connector
	}
	if f.debezium.Database == "" {
		f.debezium.Database = s.database
	}
	f.events.single = s.session != nil && s.session.writers == 1
	return f
}

// defaultPatience is Flink's execution.checkpointing.timeout.
const defaultPatience = 10 * time.Minute

// CheckTimes tells the sink that checkpoints begin at an interval and may take up to
// timeout each, and says whether transactions live long enough for that. The error is
// an [*sink.OptionError].
func (s *Sink) CheckTimes(interval, timeout time.Duration) error {
	s.mu.Lock()
	s.patience = timeout
	s.mu.Unlock()
	if s.opts.guarantee != exactlyOnce || s.opts.properties.txnTimeout > interval+timeout {
		return nil
	}
	return &sink.OptionError{Key: optTxnTimeout, Msg: fmt.Sprintf("the broker aborts transactions after %v, but checkpoints begin every %v and may take %v", s.opts.properties.txnTimeout, interval, timeout),
		Hint: "set it higher, or the checkpoints' interval and timeout lower"}
}

// Describe says which topic a table goes to, and what its messages leave out.
func (s *Sink) Describe(t *schema.Table, target schema.TableID) (sink.Description, error) {
	name := s.opts.namer.Of(target)
	d := sink.Description{Target: name, Mode: "changes, " + string(s.opts.guarantee)}
	e, err := s.format().encoder(t, s.opts.namer.Logical(target))
	if errs := s.opts.namer.Check([]schema.TableID{target}); err == nil && len(errs) > 0 {
		err = errs[0]
	}
	if err != nil {
		return d, &TableError{Table: t.ID, Topic: name, Err: err}
	}
	d.Columns = s.opts.format.describe(t, e)
	d.Notes = append(d.Notes, s.opts.format.notes()...)
	if !s.opts.format.keyed(t) {
		d.Notes = append(d.Notes, "a table without a key: its messages have none, and with several writers their order is not kept")
	}
	if t.OmitsUnchanged {
		d.Notes = append(d.Notes, s.opts.format.unchanged())
	}
	return d, nil
}

// NewCommitter opens the producer, and brings the cluster to the restored checkpoint:
// what it holds as prepared is committed. A checkpoint whose records the broker has given up
// is a [*txn.LostError]; the checkpoint before it can be gone on from.
func (s *Sink) NewCommitter(ctx context.Context, sc sink.Context) (sink.Committer, error) {
	if err := s.checkOrder(sc); err != nil {
		return nil, err
	}
	logger := sc.Logger
	if logger == nil {
		logger = s.logger
	}
	s.opts.properties.warn(logger)
	restore := txn.Restore{Restored: sc.Restored, Checkpoint: sc.RestoredID}
	var err error
	if len(sc.State) > 0 {
		if restore.Pending, err = txn.Decode(sc.State[0]); err != nil {
			return nil, err
		}
	}
	p, err := s.open(ctx, sc, logger, restore)
	if err != nil {
		return nil, err
	}
	admin, err := kgo.NewClient(s.opts.properties.common...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kafka: %w", err), p.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = newSession(p, &topics{admin: admin, creation: s.opts.creation, known: map[string]int32{}}, logger, sc.Parallelism, s.patience)
	return &committer{s.session}, nil
}

// open opens the producer that the guarantee wants. Without transactions, those that an
// earlier run has prepared are still ended.
func (s *Sink) open(ctx context.Context, sc sink.Context, logger *slog.Logger, restore txn.Restore) (producing, error) {
	if s.opts.guarantee != exactlyOnce && len(restore.Pending) == 0 {
		return newPlainProducer(s.opts.properties, s.opts.guarantee)
	}
	prefix, markers := s.ids(sc.Pipeline)
	if prefix == "" {
		return nil, &sink.OptionError{Key: optPrefix, Msg: "it is missing", Hint: "transactional ids begin with it; it must be the pipeline's own"}
	}
	p, err := producer.Open(ctx, producer.Config{
		Options: s.opts.properties.common, Producing: s.opts.properties.producing, Prefix: prefix, Lineage: sc.Lineage,
		Markers: markers, Timeout: s.opts.properties.txnTimeout, Logger: logger, Reached: sc.Reached,
	}, restore)
	if err != nil {
		if old := s.tooOld(ctx); old != nil {
			return nil, old
		}
		return nil, err
	}
	if s.opts.guarantee == exactlyOnce {
		return p, nil
	}
	if err := p.Close(); err != nil {
		return nil, err
	}
	return newPlainProducer(s.opts.properties, s.opts.guarantee)
}

// ids returns what transactional ids begin with, and the topic of the markers.
func (s *Sink) ids(pipeline string) (prefix, markers string) {
	if prefix = s.opts.prefix; prefix == "" {
		prefix = topic.Sanitise(pipeline)
	}
	if markers = s.opts.markers; markers == "" {
		markers = prefix + ".checkpoints"
	}
	return prefix, markers
}

// checkOrder makes sure that several writers keep the order that options promise.
func (s *Sink) checkOrder(sc sink.Context) error {
	if sc.Parallelism <= 1 {
		return nil
	}
	if len(s.opts.format.keys) > 0 {
		return &sink.OptionError{Key: optKeyColumns, Msg: fmt.Sprintf("with %d writers, messages of one key would come from several of them, in any order", sc.Parallelism), Hint: "set the pipeline's parallelism to 1"}
	}
	if s.opts.strategy != topic.ByKey {
		s.logger.Warn("several writers keep the order of each key, not that of a whole table (parallelism: 1 keeps it)", "option", optStrategy, "writers", sc.Parallelism)
	}
	return nil
}

// NewWriter returns the writer of one subtask; the committer must be open.
func (s *Sink) NewWriter(_ context.Context, sc sink.Context) (sink.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return nil, errClosed
	}
	return &writer{sink: s, s: s.session, subtask: sc.Subtask, tables: map[target]*tableWriter{}, piece: 64}, nil
}

// Rows returns [ErrRows].
func (s *Sink) Rows(context.Context, *schema.Table, schema.TableID, func(*schema.Batch) error) (uint64, error) {
	return 0, ErrRows
}

// Close has nothing to do: a session ends with its committer.
func (s *Sink) Close() error { return nil }
