package producer

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Config is what a producer is made for.
type Config struct {
	// Options are those of every client: brokers, security, dialing.
	Options []kgo.Opt
	// Producing are those of clients that produce: compression, linger, batches.
	Producing []kgo.Opt
	// Prefix begins the transactional ids, Lineage names the checkpoints.
	Prefix, Lineage string
	// Markers is the topic of the markers. It has one partition, and no other pipeline
	// writes to it, whose open transactions would hide what is behind them. It is
	// created where it is missing.
	Markers string
	// Timeout is the transactions' time-out (transaction.timeout.ms); by default 15 minutes,
	// the most that a broker takes by default.
	Timeout time.Duration
	Logger  *slog.Logger
	// Reached marks a named point for crash tests.
	Reached func(point string)
}

func (c *Config) fill() error {
	if c.Prefix == "" || c.Lineage == "" || c.Markers == "" {
		return fmt.Errorf("kafka: a producer needs a prefix, a lineage and a topic for markers")
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Reached == nil {
		c.Reached = func(string) {}
	}
	return nil
}
