package mysql

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// replicaHost is how this program calls itself in SHOW REPLICAS.
const replicaHost = "freshet"

// replica is one row of SHOW REPLICAS.
type replica struct {
	id         uint64
	host, uuid string
}

// replicas lists what reads the server's binlog; nil where that can't be asked.
// Programs that do not register are not in it.
func replicas(ctx context.Context, conn *wire.Conn) ([]replica, error) {
	r, err := conn.Replicas(ctx)
	if r == nil && err == nil || denied(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the server's replicas: %w", err)
	}
	var out []replica
	for i, row := range r.Rows {
		id, err := row[0].Uint()
		if err != nil {
			return nil, fmt.Errorf("list the server's replicas: %w", err)
		}
		out = append(out, replica{id: id, host: r.Value(i, "Host").String(), uuid: r.Value(i, "Replica_UUID").String()})
	}
	return out, nil
}

// chooseServerID returns the number under which the binlog is read: the first of
// server-id that no other has, or a random one. uuid is what the reader dumps with;
// an older dump of the same one is its own, left over from a crash. Empty, any
// freshet's is taken for that: the pipeline may be running while it is checked.
func (c *config) chooseServerID(ctx context.Context, conn *wire.Conn, s server, uuid string) (uint32, error) {
	list, err := replicas(ctx, conn)
	if err != nil {
		return 0, err
	}
	taken := map[uint32]string{}
	for _, r := range list {
		own := r.host == replicaHost && (uuid == "" || r.uuid == "" || r.uuid == uuid)
		if !own {
			taken[uint32(r.id)] = "replica " + strconv.Quote(r.host)
		}
	}
	if id, err := strconv.ParseUint(s.vars["server_id"], 10, 32); err == nil {
		taken[uint32(id)] = "the server itself"
	}
	if c.firstID == 0 {
		for {
			if id := randomServerID(); taken[id] == "" {
				return id, nil
			}
		}
	}
	for id := c.firstID; ; id++ {
		if taken[id] == "" {
			return id, nil
		}
		if id == c.lastID {
			return 0, withHint(fmt.Errorf("%w: %d is that of %s", ErrServerID, id, taken[id]), "set server-id to a number that no server and no replica has, or leave it out")
		}
	}
}

// randomServerID returns a number that nobody chooses by hand.
func randomServerID() uint32 { return 1<<31 + rand.Uint32N(1<<31-1) }
