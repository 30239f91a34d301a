package mysql

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/freshet-cdc/freshet/source/mysql/wire"
)

// beginTries is how often the definitions are read anew because a statement changed
// them meanwhile.
const beginTries = 20

// errRestless is returned when the definitions don't stand still.
var errRestless = errors.New("tables are created, altered and dropped so often that their definitions can't be read for one place in the binlog")

// errInvisible is returned when what is in the binlog does not become visible.
var errInvisible = fmt.Errorf("transactions of the binlog stay invisible for %s: they may wait for a replica (rpl_semi_sync_source_timeout)", patienceOther)

// begin returns where a pipeline begins that has no checkpoint, and the server's
// definitions. Where it begins now, they are those in force there: they are read
// before the place is asked for, and again when everything in front of it is
// visible, until both are the same. Where it begins in the past, they are the present ones.
func (c *config) begin(ctx context.Context, conn *wire.Conn, s server) (beginning, *catalogue, error) {
	before, err := c.loadCatalogue(ctx, conn, s)
	if err != nil {
		return beginning{}, nil, err
	}
	for range beginTries {
		b, err := c.startPlace(ctx, conn, s)
		if err != nil {
			return beginning{}, nil, err
		}
		if b.ByGTID && !s.mariadb() {
			visible, err := waitExecuted(ctx, conn, "gtid_executed", b.GTIDs, patienceOther)
			if err == nil && !visible {
				err = errInvisible
			}
			if err != nil {
				return beginning{}, nil, err
			}
		}
		now, err := c.loadCatalogue(ctx, conn, s)
		if err != nil {
			return beginning{}, nil, err
		}
		past := !c.snapshotsAtStart() && c.mode != modeLatest
		if past || reflect.DeepEqual(before, now) {
			return b, now, nil
		}
		before = now
	}
	return beginning{}, nil, errRestless
}
