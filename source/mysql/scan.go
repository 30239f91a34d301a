package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/freshet-cdc/freshet/source/mysql/binlog"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// scanned is an event that is part of a file.
type scanned struct {
	event.Header
	file  string
	start uint64 // where it begins in the file
	body  []byte
}

// addGTIDs adds the GTIDs of MySQL that the event has to a set: its own, or those
// of all files before it.
func (e scanned) addGTIDs(set *binlog.GTIDSet) error {
	switch e.Type {
	case event.PreviousGTIDsType:
		return event.PreviousGTIDs(e.body, func(iv event.GTIDInterval) error {
			set.AddPrevious(iv)
			return nil
		})
	case event.GTIDType, event.GTIDTaggedType:
		var g event.GTID
		if err := g.Parse(e.Type, e.body); err != nil {
			return err
		}
		set.Add(binlog.GTID{Source: binlog.Source{UUID: g.UUID, Tag: string(g.Tag)}, Number: uint64(g.Number)})
	}
	return nil
}

// scanFile gives the events of one binlog file to fn, until that says done or the
// file ends.
func (c *config) scanFile(ctx context.Context, file string, fn func(scanned) (done bool, err error)) error {
	r := wire.DumpRequest{File: file, Position: binlog.FirstOffset, EndAtEOF: true}
	return c.scan(ctx, r, func(e scanned) (bool, error) {
		if e.file != file {
			return true, nil
		}
		return fn(e)
	})
}

// scan reads a part of the binlog by a dump of its own and gives the events to fn,
// until that says done or the binlog ends. It is for few events, or small ones.
func (c *config) scan(ctx context.Context, r wire.DumpRequest, fn func(scanned) (done bool, err error)) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	at := r.File
	if r.ByGTID {
		at = r.GTIDSet
	}
	r.ServerID, r.Hidden = randomServerID(), true
	if err := conn.Dump(ctx, r); err != nil {
		return fmt.Errorf("read the binlog at %s: %w", shorten(at), err)
	}
	var s scanner
	for {
		p, err := conn.ReadPacket()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return c.dumpError(binlog.Explain(err), at)
		}
		e, ours, err := s.next(p)
		if err == nil && ours {
			var done bool
			if done, err = fn(e); done && err == nil {
				return nil
			}
		}
		if placed := (*LogError)(nil); errors.As(err, &placed) {
			return err
		}
		if err != nil {
			return fmt.Errorf("binlog at %s:%d: %w", s.file, s.end, err)
		}
	}
}

// scanner finds the places of events.
type scanner struct {
	format *event.Format
	file   string
	end    uint64 // of the newest event
	rotate event.Rotate
}

// next parses an event and says whether it is part of a file.
func (s *scanner) next(p []byte) (e scanned, ours bool, err error) {
	if e.Header, err = event.ParseHeader(p); err != nil {
		return e, false, err
	}
	if e.body, err = s.format.Body(e.Header, p); err != nil {
		return e, false, err
	}
	switch e.Type {
	case event.FormatType:
		if s.format, err = event.ParseFormat(e.body); err != nil {
			return e, false, err
		}
	case event.RotateType:
		if err := s.rotate.Parse(e.body); err != nil {
			return e, false, err
		}
	}
	if e.Artificial() || e.LogPos == 0 || e.Type == event.HeartbeatType || e.Type == event.HeartbeatV2Type {
		if e.Type == event.RotateType && string(s.rotate.File) != s.file { // a file begins
			s.file, s.end = string(s.rotate.File), s.rotate.Position
		}
		return e, false, nil
	}
	// The end modulo 2^32 is the event's own; what lies between need not be sent.
	end := s.end&^math.MaxUint32 | uint64(e.LogPos)
	if end < s.end+uint64(e.Size) {
		end += 1 << 32
	}
	e.file, e.start, s.end = s.file, end-uint64(e.Size), end
	return e, true, nil
}
