package postgres

import (
	"context"
	"encoding/binary"
	"time"
)

// note publishes what the scanner has seen, and answers the server if it asked.
func (l *logStream) note(s *scanner) {
	if s.received > l.received.Load() {
		l.received.Store(s.received)
	}
	if s.reply {
		s.reply = false
		l.wake(false)
	}
}

// wake lets a status update go out now; ask wants the server's position back.
func (l *logStream) wake(ask bool) {
	select {
	case l.kick <- ask:
		return
	default:
	}
	if !ask {
		return // an update is under way already and will carry the newest values
	}
	select { // make sure that the waiting one asks
	case <-l.kick:
	default:
	}
	select {
	case l.kick <- true:
	default:
	}
}

// answer sends status updates: at an interval that keeps wal_sender_timeout from
// striking however long the receiver of the groups takes, and when woken.
func (l *logStream) answer(ctx context.Context, every time.Duration) {
	defer l.wg.Done()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ask := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case ask = <-l.kick:
		}
		if err := l.conn.write(msgCopyData, l.status(ask)); err != nil {
			if ctx.Err() == nil {
				l.fail(err)
			}
			return
		}
	}
}

// status makes a standby status update. Only Confirm moves the flush position;
// 0 says that nothing is confirmed yet, which leaves the slot where it is.
func (l *logStream) status(ask bool) []byte {
	b := make([]byte, 0, 34)
	confirmed := l.confirmed.Load()
	b = append(b, 'r')
	b = binary.BigEndian.AppendUint64(b, max(l.received.Load(), confirmed))
	b = binary.BigEndian.AppendUint64(b, confirmed)
	b = binary.BigEndian.AppendUint64(b, confirmed)
	b = binary.BigEndian.AppendUint64(b, uint64(time.Now().UnixMicro()-epochMicros))
	if ask {
		return append(b, 1)
	}
	return append(b, 0)
}
