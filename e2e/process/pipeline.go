package process

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/e2e/readers"
)

// Pipeline is a pipeline from PostgreSQL, MySQL or MariaDB into Iceberg tables below
// one folder, which holds catalog.db, warehouse/, checkpoints/ and pipeline.yaml, as
// demo's does; or, where Kafka is set, into topics.
type Pipeline struct {
	Name string
	// Kafka is the address of a broker, whose topics NAME.* are written then.
	Kafka string
	// KafkaDefaults leaves the messages' format at its defaults; else values are written so
	// that they can be compared.
	KafkaDefaults bool
	// Dir is the folder.
	Dir string
	// SourceURL is the connection URL of the database, whose scheme is postgres or
	// mysql; Tables is the selector.
	SourceURL, Tables string
	// Source, Sink and Settings are more keys of the sections source, sink and pipeline.
	Source, Sink, Settings map[string]string
}

// Path is where the pipeline document lies.
func (p Pipeline) Path() string { return filepath.Join(p.Dir, "pipeline.yaml") }

// CatalogURI is the catalog's address for readers.
func (p Pipeline) CatalogURI() string { return "sqlite:///" + p.Dir + "/catalog.db" }

// Warehouse is the warehouse's address.
func (p Pipeline) Warehouse() string { return "file://" + p.Dir + "/warehouse" }

// Topic is the topic that a table goes to, which is named with its schema or database.
func (p Pipeline) Topic(table string) string { return p.Name + "." + table }

// Reader opens the independent readers on the pipeline's catalog.
func (p Pipeline) Reader(ctx context.Context) (*readers.Reader, error) {
	return readers.Open(ctx, p.CatalogURI(), p.Warehouse())
}

// Write writes the document.
func (p Pipeline) Write() error {
	text, err := p.document()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.Path(), []byte(text), 0o644)
}

func (p Pipeline) document() (string, error) {
	u, err := url.Parse(p.SourceURL)
	if err != nil {
		return "", fmt.Errorf("process: source URL: %w", err)
	}
	password, _ := u.User.Password()
	source := map[string]string{
		"type": u.Scheme, "hostname": u.Hostname(), "port": u.Port(), "username": u.User.Username(),
		"password": password, "tables": p.Tables,
	}
	if u.Scheme == "postgres" {
		source["database"], source["sslmode"], source["slot.name"] = strings.TrimPrefix(u.Path, "/"), "disable", slotName(p.Name)
	}
	sink := map[string]string{
		"type":                         "iceberg",
		"catalog.properties.type":      "sql",
		"catalog.properties.uri":       p.CatalogURI(),
		"catalog.properties.warehouse": p.Warehouse(),
	}
	if p.Kafka != "" {
		sink = map[string]string{"type": "kafka", "properties.bootstrap.servers": p.Kafka, "topic.prefix": p.Name}
		if !p.KafkaDefaults {
			maps.Copy(sink, readers.MessageOptions)
		}
	}
	settings := map[string]string{
		"name":                             p.Name,
		"execution.checkpointing.interval": "1s",
		"execution.checkpointing.dir":      "file://" + p.Dir + "/checkpoints",
	}
	var b strings.Builder
	section(&b, "source", source, p.Source)
	section(&b, "sink", sink, p.Sink)
	section(&b, "pipeline", settings, p.Settings)
	return b.String(), nil
}

// section writes one section; more wins over base, and an empty value drops the key.
func section(b *strings.Builder, name string, base, more map[string]string) {
	for k, v := range more {
		base[k] = v
	}
	keys := make([]string, 0, len(base))
	for k := range base {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	fmt.Fprintf(b, "%s:\n", name)
	for _, k := range keys {
		if base[k] != "" {
			fmt.Fprintf(b, "  %s: %s\n", k, scalar(base[k]))
		}
	}
}

// scalar quotes a value unless YAML reads it as what it is: a plain word, number or boolean.
func scalar(v string) string {
	plain := strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == ""
	if plain {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}

func slotName(pipeline string) string {
	return "freshet_" + strings.NewReplacer("-", "_", ".", "_").Replace(pipeline)
}
