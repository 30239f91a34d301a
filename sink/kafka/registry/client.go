package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

const (
	requestTimeout = 30 * time.Second
	// A registry that does not answer is asked for so long, with pauses from firstPause
	// to lastPause.
	patience   = 2 * time.Minute
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Options say how a registry is reached.
type Options struct {
	// URLs are asked in this order, until one answers.
	URLs []string
	// User and Password are for basic authentication, Token is a bearer's; empty for none.
	User, Password, Token string
	// TLS is nil for what the system trusts.
	TLS *tls.Config
	// Register puts schemas into the registry that are not there; else they must be.
	Register bool
	Logger   *slog.Logger
}

// Schema is a schema in Avro. References are the named types that it takes from other
// subjects.
type Schema struct {
	Text       string
	References []Reference
}

// Reference is a named type that a schema takes from another subject.
type Reference struct {
	Name    string // the type's full name
	Subject string
	Schema  Schema
}

// Client asks a registry. It is safe for concurrent use, and needs not be closed: it keeps
// no connections.
type Client struct {
	o  Options
	sr *sr.Client

	mu    sync.Mutex // held over requests, so that a schema is asked for once
	known map[string]entry
}

// entry is a schema in the registry.
type entry struct{ id, version int }

// New returns a client. Nothing is asked yet.
func New(o Options) (*Client, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.DisableKeepAlives = o.TLS, true
	opts := []sr.ClientOpt{sr.URLs(o.URLs...), sr.UserAgent("freshet"), sr.HTTPClient(&http.Client{Timeout: requestTimeout, Transport: transport})}
	if o.User != "" || o.Password != "" {
		opts = append(opts, sr.BasicAuth(o.User, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, sr.BearerToken(o.Token))
	}
	c, err := sr.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("schema registry: %w", err)
	}
	return &Client{o: o, sr: c, known: map[string]entry{}}, nil
}

// SetLogger says where it is told that a registry does not answer. It comes before everything
// else.
func (c *Client) SetLogger(l *slog.Logger) { c.o.Logger = l }

// Check asks whether the registry is there and knows the account. The error wraps
// [ErrUnavailable] or is an [*Error].
func (c *Client) Check(ctx context.Context) error {
	_, err := c.sr.SupportedTypes(ctx)
	if err == nil || !c.refused(err) {
		return c.unavailable(err)
	}
	if status := statusOf(err); status == http.StatusNotFound { // registries of others don't tell their types
		return nil
	}
	return c.problem("", err)
}

// ID returns the number of a schema under a subject. It puts the schema there where the options
// say so. The error is an [*Error], or wraps [ErrUnavailable] or the context's.
func (c *Client) ID(ctx context.Context, subject string, s Schema) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, err := c.entry(ctx, subject, s)
	return e.id, err
}

func (c *Client) entry(ctx context.Context, subject string, s Schema) (entry, error) {
	key := subject + "\x00" + s.Text
	if e, ok := c.known[key]; ok {
		return e, nil
	}
	in := sr.Schema{Schema: s.Text}
	for _, r := range s.References {
		e, err := c.entry(ctx, r.Subject, r.Schema)
		if err == nil && e.version == 0 {
			e, err = c.lookup(ctx, r.Subject, sr.Schema{Schema: r.Schema.Text, References: referencesOf(r.Schema, c.known)})
		}
		if err != nil {
			return entry{}, err
		}
		c.known[r.Subject+"\x00"+r.Schema.Text] = e
		in.References = append(in.References, sr.SchemaReference{Name: r.Name, Subject: r.Subject, Version: e.version})
	}
	var e entry
	var err error
	if c.o.Register {
		err = c.try(ctx, func(ctx context.Context) (err error) {
			e.id, err = c.sr.RegisterSchema(ctx, subject, in, -1, -1)
			return err
		})
		if err != nil && c.refused(err) {
			err = c.incompatible(ctx, subject, in, err)
		}
	} else {
		e, err = c.lookup(ctx, subject, in)
	}
	if err == nil {
		c.known[key] = e
	}
	return e, err
}

// referencesOf returns the references of a schema whose own are known.
func referencesOf(s Schema, known map[string]entry) (out []sr.SchemaReference) {
	for _, r := range s.References {
		out = append(out, sr.SchemaReference{Name: r.Name, Subject: r.Subject, Version: known[r.Subject+"\x00"+r.Schema.Text].version})
	}
	return out
}

// lookup asks for a schema that must be there.
func (c *Client) lookup(ctx context.Context, subject string, s sr.Schema) (e entry, err error) {
	var found sr.SubjectSchema
	err = c.try(ctx, func(ctx context.Context) (err error) {
		found, err = c.sr.LookupSchema(ctx, subject, s)
		return err
	})
	switch {
	case err == nil:
		return entry{found.ID, found.Version}, nil
	case statusOf(err) == http.StatusNotFound:
		return e, &Error{Subject: subject, Msg: "the schema is not registered there", Hint: "register it, or set auto.register.schemas"}
	case c.refused(err):
		return e, c.problem(subject, err)
	}
	return e, err
}

// try asks again while the registry does not answer.
func (c *Client) try(ctx context.Context, ask func(context.Context) error) error {
	begun, pause := time.Now(), firstPause
	for {
		err := ask(ctx)
		switch {
		case err == nil || c.refused(err):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(begun)+pause > patience:
			return c.unavailable(err)
		}
		c.o.Logger.Warn("the schema registry does not answer, it is asked again", "pause", pause, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause = min(2*pause, lastPause)
	}
}

// refused says that the registry has answered, and would answer so again.
func (c *Client) refused(err error) bool {
	status := statusOf(err)
	return status >= 300 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}

func (c *Client) unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, strings.Join(c.o.URLs, ", "), err)
}

// statusOf returns the status of an answer, 0 for none.
func statusOf(err error) int {
	if answer := (*sr.ResponseError)(nil); errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// problem says what was refused.
func (c *Client) problem(subject string, err error) error {
	e := &Error{Subject: subject, Msg: err.Error()}
	switch statusOf(err) {
	case http.StatusUnauthorized:
		e.Hint = "check the account: schema.registry.basic.auth.user.info"
	case http.StatusForbidden:
		e.Hint = "the account may not do it: grant it to read and write the subject"
	}
	return e
}

// fieldPattern finds the fields in what a registry says about incompatible schemas.
var fieldPattern = regexp.MustCompile(`(?i)\bfield '([^']+)'|additionalInfo:'([A-Za-z_][A-Za-z0-9_.]*)'`)

// versionPattern finds the version that it has compared with.
var versionPattern = regexp.MustCompile(`oldSchemaVersion: (\d+)`)

// incompatible makes an error of a refused schema, with the version and the fields that break the
// compatibility. Where the refusal does not name them the registry is asked.
func (c *Client) incompatible(ctx context.Context, subject string, s sr.Schema, refusal error) error {
	if statusOf(refusal) != http.StatusConflict {
		return c.problem(subject, refusal)
	}
	e := &Error{Subject: subject, Msg: "the schema is not compatible with an earlier one: " + refusal.Error(),
		Hint: "make the change compatible (a new column NULL, or with a default), or set the subject's compatibility to another level"}
	if strings.Contains(refusal.Error(), "NAME_MISMATCH") {
		e.Hint = "tables that share a topic need RecordNameStrategy or TopicRecordNameStrategy as value.subject.name.strategy and key.subject.name.strategy"
	}
	texts := []string{refusal.Error()}
	if latest, err := c.sr.SchemaByVersion(ctx, subject, -1); err == nil {
		e.Version = latest.Version
		if found, err := c.sr.CheckCompatibility(sr.WithParams(ctx, sr.Verbose), subject, -1, s); err == nil {
			texts = append(texts, found.Messages...)
		}
	}
	for _, text := range texts {
		if m := versionPattern.FindStringSubmatch(text); m != nil {
			_, _ = fmt.Sscan(m[1], &e.Version)
		}
		names := fieldsAt(s.Schema, text)
		for _, m := range fieldPattern.FindAllStringSubmatch(text, -1) {
			names = append(names, m[1]+m[2])
		}
		for _, name := range names {
			if !slices.Contains(e.Fields, name) {
				e.Fields = append(e.Fields, name)
			}
		}
	}
	return e
}
