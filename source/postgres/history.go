package postgres

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
)

// history is where in a cluster's life a position lies. The zero value is unknown.
type history struct {
	// System identifies the cluster: its standbys and copies share it.
	System string `json:"system,omitempty"`
	// Timeline grows by each promotion of a standby and each recovery to a point in time.
	Timeline int32 `json:"timeline,omitempty"`
}

// timelineSwitch says where a timeline was left.
type timelineSwitch struct {
	Timeline int32
	At       uint64
}

// readHistory asks an idle replication connection for the server's place in
// history, and for the timelines before it.
func readHistory(ctx context.Context, conn *pgconn.PgConn) (history, []timelineSwitch, error) {
	system, err := pglogrepl.IdentifySystem(ctx, conn)
	if err != nil {
		return history{}, nil, fmt.Errorf("identify the server: %w", err)
	}
	now := history{System: system.SystemID, Timeline: system.Timeline}
	if now.Timeline <= 1 {
		return now, nil, nil
	}
	file, err := pglogrepl.TimelineHistory(ctx, conn, now.Timeline)
	if err != nil {
		return history{}, nil, fmt.Errorf("read the history of timeline %d: %w", now.Timeline, err)
	}
	switches, err := parseTimelines(file.Content)
	if err != nil {
		return history{}, nil, fmt.Errorf("the history of timeline %d: %w", now.Timeline, err)
	}
	return now, switches, nil
}

// parseTimelines reads a timeline history file: a timeline, the position at which
// it was left and a reason a line, # for comments.
func parseTimelines(content []byte) ([]timelineSwitch, error) {
	var out []timelineSwitch
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		var timeline int64
		var high, low uint64
		if _, err := fmt.Sscanf(string(line), "%d %X/%X", &timeline, &high, &low); err != nil ||
			timeline < 1 || timeline > math.MaxInt32 || high > math.MaxUint32 || low > math.MaxUint32 {
			return nil, fmt.Errorf("%w: timeline history %q", errProtocol, line)
		}
		out = append(out, timelineSwitch{int32(timeline), high<<32 | low})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: timeline history: %w", errProtocol, err)
	}
	return out, nil
}

// resume returns where a server whose place in history is now, behind switches,
// takes over from a checkpoint at position. commit is the end of the last
// transaction that the checkpoint knows of. A position behind the place where the
// checkpoint's timeline was left means nothing to the server, which would go on from
// there and skip what was committed in between: where nothing was captured
// beyond that place, the log begins there.
func resume(saved history, position, commit uint64, now history, switches []timelineSwitch) (uint64, error) {
	const startOver = "empty the checkpoint directory and the target tables, choose another slot.name, and start with a new snapshot"
	switch {
	case saved.System == "" || saved == now:
		return position, nil
	case saved.System != now.System:
		return 0, &HistoryError{Problem: fmt.Sprintf("its system identifier is %s, the checkpoint comes from %s", now.System, saved.System),
			Hint: "connect to the server that was captured, or to its successor by failover; for another one " + startOver}
	case saved.Timeline > now.Timeline:
		return 0, &HistoryError{Problem: fmt.Sprintf("it is on timeline %d, the checkpoint on %d: a server from before a failover", now.Timeline, saved.Timeline),
			Hint: "connect to the present primary"}
	}
	for _, s := range switches {
		switch {
		case s.Timeline != saved.Timeline:
			continue
		case position <= s.At:
			return position, nil
		case commit <= s.At:
			return s.At, nil
		}
		return 0, &HistoryError{
			Problem: fmt.Sprintf("timeline %d was left at %s, but transactions up to %s were captured: the failover lost them, and they are in the target tables",
				s.Timeline, formatLSN(s.At), formatLSN(commit)),
			Hint: startOver + "; with slot.failover, synchronized_standby_slots on the server keeps the standby ahead of what is captured"}
	}
	return 0, &HistoryError{Problem: fmt.Sprintf("its timeline %d does not come from timeline %d of the checkpoint", now.Timeline, saved.Timeline),
		Hint: "connect to the present primary; where there is none that continues it, " + startOver}
}
