package binlog

import (
	"context"
	"fmt"
	"time"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
)

// gatherHeartbeat is how often a server that has nothing more says so.
const gatherHeartbeat = 100 * time.Millisecond

// Gather reads the binlog from the beginning of a file up to a place and returns the XA
// transactions that are prepared there and not decided, with their rows of the tables
// that captured wants, and where each begins. Of others it decodes nothing, so it needs no
// definitions. o says how the server is read: Conn, which is closed in the end, ServerID,
// Values, MaxPrepared and Logger.
func Gather(ctx context.Context, o Options, file string, until Place, captured func(schema.TableID) bool) (_ []*Prepared, begins []Place, err error) {
	o = Options{Conn: o.Conn, ServerID: o.ServerID, Values: o.Values, MaxPrepared: o.MaxPrepared, Logger: o.Logger, Decoders: 1,
		Start: Place{File: file, Offset: FirstOffset}, Heartbeat: gatherHeartbeat, Captured: captured, gather: true, gatherUntil: until}
	s, err := Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case g, ok := <-s.Groups():
			if !ok {
				return nil, nil, fmt.Errorf("look for prepared XA transactions from %s on: %w", o.Start, s.Err())
			}
			end, err := g.Files.Position(until)
			if err != nil {
				return nil, nil, err
			}
			if g.Position < end {
				continue
			}
			for _, p := range g.Prepared {
				begins = append(begins, g.Files.Place(p.Start))
			}
			return g.Prepared, begins, nil
		}
	}
}

// gathers makes a scanner one that only keeps the rows of XA transactions, up to a place.
func (s *scanner) gathers(captured func(schema.TableID) bool, until Place) {
	wanted := &layout{}
	s.gather, s.gatherUntil = true, until
	s.resolve = func(_ *ddl.Catalog, t *event.TableMap, _ []byte, _ uint64, _ Place) (resolved, error) {
		if !captured(schema.TableID{Schema: string(t.Database), Table: string(t.Table)}) {
			return resolved{}, nil
		}
		return resolved{layout: wanted}, nil
	}
	s.statement = func(c *ddl.Catalog, _ *event.Query, _ uint64, _ Place) (*ddl.Catalog, []ddl.Effect, error) {
		return c, nil, nil
	}
	s.unknownXA = func(string, uint64) error { return nil }
}

// beyondGather reports whether a position lies behind the place up to which Gather looks.
// The server sends on, and what is decided or prepared there was not so at the place.
// Where the place can't be told, Gather says so.
func (s *scanner) beyondGather(pos uint64) bool {
	end, err := s.files.Position(s.gatherUntil)
	return err == nil && pos >= end
}
