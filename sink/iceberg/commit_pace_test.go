package iceberg

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestCommitPace: what passes by itself is tried for long, a lost race at once, and
// what nobody knows a few times.
func TestCommitPace(t *testing.T) {
	pg := func(code string) error { return fmt.Errorf("error updating: %w", &pgconn.PgError{Code: code}) }
	for name, c := range map[string]struct {
		err     error
		tries   int // until again says no; 50 is for ever
		longest time.Duration
	}{
		"lost race":        {fmt.Errorf("%w: moved", table.ErrCommitFailed), 50, longestRace},
		"requirement":      {errors.New("requirement failed: x"), 50, longestRace},
		"serialization":    {pg("40001"), 50, longestRace},
		"deadlock":         {pg("40P01"), 50, longestRace},
		"shutting down":    {pg("57P01"), 50, longestDelay},
		"too many clients": {pg("53300"), 50, longestDelay},
		"connection gone":  {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), 50, longestDelay},
		"refused":          {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, 50, longestDelay},
		"bad connection":   {driver.ErrBadConn, 50, longestDelay},
		"privilege":        {pg("42501"), maxUnclear, longestDelay},
		"no answer":        {&lateError{err: context.DeadlineExceeded}, maxUnclear, longestDelay},
		"unknown":          {errors.New("?"), maxUnclear, longestDelay},
		"state":            {&StateError{Msg: "x"}, 1, longestDelay},
	} {
		var p commitPace
		tries, longest := 0, time.Duration(0)
		for tries < 50 {
			tries++
			if !p.again(c.err) {
				break
			}
			longest = max(longest, p.NextBackOff())
		}
		if tries != c.tries || longest > c.longest {
			t.Errorf("%s: %d tries, the longest delay %s; want %d, at most %s", name, tries, longest, c.tries, c.longest)
		}
	}
}
