package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/sink"
	"github.com/freshet-cdc/freshet/sink/kafka/avro"
	"github.com/freshet-cdc/freshet/sink/kafka/registry"
)

// Keys of the options of a schema registry.
const (
	optRegistry    = "schema.registry."
	optRegistryURL = "schema.registry.url"
	optUserInfo    = "schema.registry.basic.auth.user.info"
	optValueName   = "value.subject.name.strategy"
	optKeyName     = "key.subject.name.strategy"
	optLatest      = "use.latest.version"
)

// avroOptions say where schemas are kept.
type avroOptions struct {
	registry   *registry.Client // nil where no format is avro
	key, value registry.Strategy
	latest     bool // the newest schemas of the subjects are used
	events     *eventCodecs
}

// avroSpecs lists the options of avro and debezium-avro, by Confluent's names.
func avroSpecs() []sink.OptionSpec {
	names := func(key, what string) sink.OptionSpec {
		return sink.OptionSpec{Key: key, Type: "string", Default: string(registry.TopicName),
			Doc: "Subject of " + what + " in the registry: TopicNameStrategy, RecordNameStrategy, TopicRecordNameStrategy."}
	}
	return []sink.OptionSpec{
		{Key: optRegistryURL, Type: "string", Doc: "Schema registry of avro and debezium-avro: URLs with commas between them, of which the first that answers counts."},
		{Key: optUserInfo, Type: "string", Secret: true, Doc: "Its account: user:password."},
		{Key: "schema.registry.bearer.auth.token", Type: "string", Secret: true, Doc: "A token for it, instead of an account."},
		{Key: "schema.registry.ssl.truststore.location", Type: "string", Doc: "File of the certificates to trust, as PEM; by default the system's."},
		{Key: "schema.registry.ssl.truststore.certificates", Type: "string", Doc: "The certificates to trust, as PEM."},
		{Key: "schema.registry.ssl.keystore.location", Type: "string", Doc: "File of certificate and key for mutual TLS, as PEM."},
		{Key: "schema.registry.ssl.keystore.certificate.chain", Type: "string", Doc: "The certificate for mutual TLS, as PEM."},
		{Key: "schema.registry.ssl.keystore.key", Type: "string", Secret: true, Doc: "Its private key, as PEM."},
		{Key: "auto.register.schemas", Type: "bool", Default: "true", Doc: "Put schemas into the registry that are not there; else they must be."},
		{Key: optLatest, Type: "bool", Default: "false", Doc: "Write by the newest schema of a subject, which is the table's or a union that has it, also by reference; with auto.register.schemas false."},
		names(optValueName, "values"),
		names(optKeyName, "keys"),
	}
}

// avro reads the options of the registry, where a format needs one.
func (r *optionReader) avro(f format) avroOptions {
	if f.value != formatAvro && f.value != formatDebeziumAvro {
		return avroOptions{}
	}
	o := avroOptions{key: r.strategy(optKeyName), value: r.strategy(optValueName), latest: r.flag(optLatest), events: &eventCodecs{codecs: map[string]*avro.Codec{}}}
	ro := registry.Options{URLs: list(r.text(optRegistryURL)), Token: r.text("schema.registry.bearer.auth.token"), Register: r.flag("auto.register.schemas")}
	if o.latest && ro.Register {
		r.fail(optLatest, "schemas that are registered on the way are the newest already", "set auto.register.schemas to false")
	}
	if len(ro.URLs) == 0 {
		r.fail(optRegistryURL, "it is missing", "avro needs a schema registry, for instance http://registry:8081")
	}
	for _, u := range ro.URLs {
		if !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://") {
			r.fail(optRegistryURL, fmt.Sprintf("%q is no URL of a registry", u), "for instance http://registry:8081")
		}
	}
	if info := r.text(optUserInfo); info != "" {
		var ok bool
		if ro.User, ro.Password, ok = strings.Cut(info, ":"); !ok {
			r.fail(optUserInfo, "it has no colon", "it is user:password")
		}
	}
	ssl := func(name string) string { return r.text("schema.registry.ssl." + name) }
	s := security{trustFile: ssl("truststore.location"), trust: ssl("truststore.certificates"), keyFile: ssl("keystore.location"), chain: ssl("keystore.certificate.chain"), key: ssl("keystore.key")}
	if s != (security{}) {
		ro.TLS = r.tls(optRegistry, &s)
	}
	if r.err == nil {
		o.registry, r.err = registry.New(ro)
	}
	return o
}

func (r *optionReader) strategy(key string) registry.Strategy {
	s, ok := registry.ParseStrategy(r.text(key))
	if !ok {
		r.fail(key, fmt.Sprintf("%q is unknown", r.text(key)), "there is "+strings.Join(registry.Strategies, ", "))
	}
	return s
}

// named is a schema in Avro and the full name of its record; empty for none.
type named struct{ record, text string }

// registered is an encoder whose messages begin with the numbers of their schemas.
type registered interface {
	schemas() (key, value named, err error)
	// frame says what stands before keys and values.
	frame(key, value []byte)
}

func (t *translatedEncoder) schemas() (key, value named, err error) {
	if t.key != nil {
		key = named{t.key.Name(), t.key.Schema()}
	}
	if t.value != nil {
		value = named{t.value.Name(), t.value.Schema()}
	}
	return key, value, nil
}

func (t *translatedEncoder) frame(key, value []byte) { t.keyFrame, t.valueFrame = key, value }

func (p *plainEncoder) schemas() (key, value named, err error) {
	key.text, value.text, err = p.e.Schemas()
	key.record, value.record = p.key, p.value
	return key, value, err
}

func (p *plainEncoder) frame(key, value []byte) { p.e.Frame(key, value) }

// register brings the encoder's schemas into the registry.
func (o avroOptions) register(ctx context.Context, topic string, e registered) error {
	key, value, err := e.schemas()
	if err != nil {
		return err
	}
	var frames [2][]byte
	for i, s := range []named{key, value} {
		if s.text == "" {
			continue
		}
		strategy := o.value
		if i == 0 {
			strategy = o.key
		}
		if frames[i], err = o.number(ctx, strategy.Subject(topic, s.record, i == 0), s); err != nil {
			return err
		}
	}
	e.frame(frames[0], frames[1])
	return nil
}

// encoder returns the encoder of a table on its way to a topic, its schemas registered.
func (s *Sink) encoder(ctx context.Context, t *schema.Table, to schema.TableID) (encoder, error) {
	f := s.format()
	name, _ := f.events.route(s.opts.namer.Of(to))
	e, err := f.encoder(t, s.opts.namer.Logical(to))
	if r, ok := e.(registered); ok && err == nil {
		err = f.avro.register(ctx, name, r)
	}
	switch {
	case err == nil:
		return e, nil
	case errors.Is(err, registry.ErrUnavailable), ctx.Err() != nil:
		return nil, fmt.Errorf("kafka: table %s, topic %s: %w", t.ID, name, err)
	}
	return nil, &TableError{Table: t.ID, Topic: name, Err: err}
}
