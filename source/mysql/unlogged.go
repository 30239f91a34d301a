package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
)

// unloggedNote says which columns of a table are not captured, empty for none.
func unloggedNote(d *ddl.Definition) string {
	names := d.Unlogged()
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("column %s is generated, and the server leaves it out of its binlog: not captured", names[0])
	}
	return fmt.Sprintf("columns %s are generated, and the server leaves them out of its binlog: not captured", strings.Join(names, ", "))
}

// noteUnlogged tells of columns of a captured table that are not captured.
func (r *reader) noteUnlogged(id schema.TableID, d *ddl.Definition) {
	if note := unloggedNote(d); note != "" {
		r.logger.Info(note, "table", id.String())
	}
}

// noteAllUnlogged is noteUnlogged for the tables whose definition has changed between
// two catalogues in this respect; was is nil at the start.
func (r *reader) noteAllUnlogged(was, now *ddl.Catalog) {
	if was == now {
		return
	}
	for id := range r.tables {
		d, ok := now.Definition(id)
		if !ok {
			continue
		}
		if was != nil {
			if old, ok := was.Definition(id); ok && (old == d || slices.Equal(old.Unlogged(), d.Unlogged())) {
				continue
			}
		}
		r.noteUnlogged(id, d)
	}
}
