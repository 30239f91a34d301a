package mysql

import (
	"strings"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
)

// renamedAway is the error of a captured table that has another name now. To rename it back
// does not help: the log has both statements, and what was written between them.
func (r *reader) renamedAway(t *tableState, e ddl.Effect) error {
	err := &SchemaChangeError{Table: t.def.ID, Place: r.format(e.Position), What: "the table was renamed to " + e.NewID.String(),
		Hint: "start a new pipeline for the table, under the name that it has now"}
	if isPutAway(t.def.ID, e.NewID) {
		err.What += ", as online schema changes do that swap tables in two steps: whether the table that comes next has the same rows can't be told"
		err.Hint = "start a new pipeline for the table; to have it followed, let the tool swap in one statement, as gh-ost does unless --cut-over is two-step: RENAME TABLE t TO _t_del, _t_gho TO t"
	}
	return err
}

// isPutAway reports whether a name is one that an online schema change gives to the table
// that it replaces: _t_del, with a time before _del or none (gh-ost), or _t_old, with one
// underscore or more before it (pt-online-schema-change).
func isPutAway(id, to schema.TableID) bool {
	name := strings.TrimLeft(to.Table, "_")
	if id.Schema != to.Schema || name == to.Table {
		return false
	}
	rest, ok := strings.CutPrefix(name, strings.TrimLeft(id.Table, "_")+"_")
	return ok && (rest == "old" || rest == "del" || strings.HasSuffix(rest, "_del"))
}
