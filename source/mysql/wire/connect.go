package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Connect logs in and makes the session's settings (see session.go). The error
// wraps the server's answer, ErrTLS, ErrAuth or the network's error.
func Connect(ctx context.Context, cfg Config) (*Conn, error) {
	wait := time.Second
	for attempt := 0; ; attempt++ {
		c, err := connectOnce(ctx, cfg)
		if err == nil || attempt >= cfg.Retries || ctx.Err() != nil || !passing(err) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(2*wait, 10*time.Second)
	}
}

// passing says that another attempt may go better: the network, too many
// connections (1040), a server that starts or stops (1053, 1077, 3032).
func passing(err error) bool {
	switch Code(err) {
	case 1040, 1053, 1077, 3032:
		return true
	case 0:
		var op *net.OpError
		return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	}
	return false
}

func connectOnce(ctx context.Context, cfg Config) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.timeout())
	defer cancel()
	network, address := cfg.network()
	raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := newConn(raw)
	if err := c.login(ctx, cfg); err != nil {
		_ = c.raw.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) login(ctx context.Context, cfg Config) error {
	return c.guard(ctx, func() error {
		p, err := c.in.read()
		if err != nil {
			return fmt.Errorf("the server's greeting: %w", err)
		}
		g, err := parseGreeting(p)
		if err != nil {
			return err
		}
		c.greet(g)
		encrypted, err := c.startTLS(ctx, cfg, g)
		if err != nil {
			return err
		}
		a := &authenticator{password: cfg.Password, private: encrypted || cfg.Socket != "", plugin: g.plugin, seed: g.seed}
		if err := c.authenticate(g, a, cfg.User, encrypted); err != nil {
			return err
		}
		return c.settings()
	})
}

func (c *Conn) greet(g greeting) {
	c.id, c.versionText = g.connection, g.version
	c.flavor, c.version = parseVersion(g.version)
	if g.capabilities&clientLongPassword == 0 {
		c.flavor = MariaDB // whatever its version is called
	}
}

// startTLS encrypts the connection when the mode wants it and says whether it did.
func (c *Conn) startTLS(ctx context.Context, cfg Config, g greeting) (bool, error) {
	mode := cfg.TLS.Mode
	if mode == "" {
		mode = TLSPreferred
	}
	offered := g.capabilities&clientSSL != 0
	switch {
	case mode == TLSDisabled, mode == TLSPreferred && (!offered || cfg.Socket != ""):
		return false, nil
	case !offered:
		return false, fmt.Errorf("%w: the server offers none, and ssl.mode is %s", ErrTLS, mode)
	}
	conf, err := cfg.TLS.client(cfg.Host)
	if err != nil {
		return false, err
	}
	if err := c.write(g.sslRequest()); err != nil {
		return false, err
	}
	if len(c.in.buffered()) > 0 {
		return false, malformed("data before the TLS handshake")
	}
	enc := tls.Client(c.net, conf)
	if err := enc.HandshakeContext(ctx); err != nil {
		return false, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	seq := c.in.seq
	c.net, c.in = enc, newPacketReader(enc)
	c.in.seq = seq
	return true, nil
}

func (c *Conn) authenticate(g greeting, a *authenticator, user string, encrypted bool) error {
	response, err := a.first()
	if errors.Is(err, ErrAuth) && g.capabilities&clientPluginAuth != 0 {
		// The server's default plugin need not be the account's: let it choose.
		a.plugin = pluginNative
		response, err = a.first()
	}
	if err != nil {
		return err
	}
	if err := c.write(g.answer(user, a.plugin, response, encrypted)); err != nil {
		return err
	}
	for {
		p, err := c.in.read()
		if err != nil {
			return fmt.Errorf("the server's answer to the login: %w", err)
		}
		answer, done, err := a.next(p)
		if err != nil || done {
			return err
		}
		if answer == nil {
			continue
		}
		if err := c.write(answer); err != nil {
			return err
		}
	}
}
