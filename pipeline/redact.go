package pipeline

import (
	"context"
	"log/slog"
)

// redacting takes secrets out of every record before it reaches the handler.
type redacting struct {
	slog.Handler
	redact func(string) string
}

// Handle implements slog.Handler.
func (h redacting) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.clean(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements slog.Handler.
func (h redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.clean(a)
	}
	return redacting{h.Handler.WithAttrs(clean), h.redact}
}

// WithGroup implements slog.Handler.
func (h redacting) WithGroup(name string) slog.Handler {
	return redacting{h.Handler.WithGroup(name), h.redact}
}

// clean cleans a value: texts, and what is printed as one (errors, Stringers).
func (h redacting) clean(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.redact(v.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, member := range v.Group() {
			group[i] = h.clean(member)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindAny:
		return slog.String(a.Key, h.redact(slog.AnyValue(v.Any()).String()))
	}
	return a
}
