package iceberg

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	iceberggo "github.com/apache/iceberg-go"

	"github.com/freshet-cdc/freshet/schema"
)

// EvolveError is a definition, or a change of one, that a table can't follow.
type EvolveError struct {
	// Table is the sink table, Position the place of the change in the log (0 for
	// a new table), Column the column where one is to blame.
	Table    schema.TableID
	Position uint64
	Change   schema.ChangeKind
	Column   string
	// Msg says what is wrong, Hint what to do.
	Msg, Hint string
}

func (e *EvolveError) Error() string {
	s := fmt.Sprintf("iceberg: table %s", e.Table)
	if e.Column != "" {
		s += ", column " + e.Column
	}
	s += fmt.Sprintf(": %s at log position %d: %s", e.Change, e.Position, e.Msg)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Permanent says that the change is the same at the next attempt.
func (e *EvolveError) Permanent() bool { return true }

// startAgain is the way out of a change that can't be followed.
const startAgain = "let the pipeline read the table again: drop the sink table and start with a new checkpoint directory, or exclude the table"

// stagedSchema is the definition of a sink table as of some place in the log, with
// all field ids assigned. Every writer and the committer derive the same ids
// from the same changes, so files are written in a schema that the catalog
// does not have yet. It is immutable and knows no catalog.
type stagedSchema struct {
	// Source is the source's definition in force, with its own ID.
	Source *schema.Table
	// Target is the sink table.
	Target schema.TableID
	Mode   writeMode
	// Iceberg has one field a column in the order of Source.Columns, and the
	// changelog columns after them in append mode. Its ID is without meaning:
	// the catalog numbers schemas itself.
	Iceberg *iceberggo.Schema
	// LastColumnID is the highest field id ever given out in the table; ids of
	// dropped columns are not given out again.
	LastColumnID int
}

// newStagedSchema returns the schema that a new table gets.
func newStagedSchema(source *schema.Table, target schema.TableID, mode writeMode) (*stagedSchema, error) {
	s := &stagedSchema{Source: source, Target: target, Mode: mode}
	return s.rebuild(&schema.Change{Kind: schema.ChangeCreateTable, After: source}, nil)
}

// apply returns the schema after a change. Kinds that change no definition return
// s, or a copy with the newer Source. What Iceberg or the key index can't follow is
// an [*EvolveError].
func (s *stagedSchema) apply(c *schema.Change) (*stagedSchema, error) {
	if c.After == nil {
		return s, nil
	}
	switch c.Kind {
	case schema.ChangeAddColumn, schema.ChangeDropColumn, schema.ChangeRenameColumn, schema.ChangeAlterColumn, schema.ChangeReset:
		return s.rebuild(c, s.fieldsByOldName(c))
	case schema.ChangeCreateTable:
		next, err := s.rebuild(c, s.fieldsByOldName(c))
		if err == nil && !next.Iceberg.Equals(s.Iceberg) {
			err = s.fail(c, "", "the table came with another definition than the pipeline had for it", startAgain)
		}
		return next, err
	}
	return s, nil
}

// fieldsByOldName returns the fields in force by the names that they have after c.
func (s *stagedSchema) fieldsByOldName(c *schema.Change) map[string]iceberggo.NestedField {
	fields := make(map[string]iceberggo.NestedField, s.Iceberg.NumFields())
	for _, f := range s.Iceberg.Fields() {
		name := f.Name
		if to, ok := c.Renames[name]; ok && c.Kind == schema.ChangeRenameColumn {
			name = to
		}
		fields[name] = f
	}
	if c.Kind == schema.ChangeDropColumn { // dropped and added again under the same name is another column
		for _, col := range c.Columns {
			if _, i := c.After.Column(col.Name); i < 0 {
				delete(fields, col.Name)
			}
		}
	}
	return fields
}

// rebuild makes the fields of c.After, taking ids from old where a column goes on.
func (s *stagedSchema) rebuild(c *schema.Change, old map[string]iceberggo.NestedField) (*stagedSchema, error) {
	next := &stagedSchema{Source: c.After, Target: s.Target, Mode: s.Mode, LastColumnID: s.LastColumnID}
	if err := s.checkKey(c); err != nil {
		return nil, err
	}
	var fresh []int
	fields := make([]iceberggo.NestedField, 0, len(c.After.Columns)+5)
	for _, col := range c.After.Columns {
		if s.Mode == modeAppend && isChangelogColumn(col.Name) {
			return nil, s.fail(c, col.Name, "the name is one of the changelog's own columns", "rename the column, or exclude the table")
		}
		f := iceberggo.NestedField{Name: col.Name, Doc: col.Comment, Required: slices.Contains(c.After.PrimaryKey, col.Name)}
		typ, err := icebergType(col.Type, func() int { return 0 })
		if err != nil {
			return nil, s.fail(c, col.Name, err.Error(), "exclude the table or change the column")
		}
		was, goesOn := old[col.Name]
		switch {
		case goesOn && promotes(was.Type, typ):
			f.ID, f.Type = was.ID, withIDs(was.Type, typ)
		case goesOn && c.Kind != schema.ChangeReset: // after a reset no old value is left to be read
			return nil, s.fail(c, col.Name, fmt.Sprintf("its type can't go from %s to %s", was.Type, typ),
				"Iceberg widens int to long, float to double and decimals to more digits; "+startAgain)
		default:
			f.Type = typ
			fresh = append(fresh, len(fields))
		}
		fields = append(fields, f)
	}
	if s.Mode == modeAppend {
		fields, fresh = appendChangelogFields(fields, fresh, old)
	}
	if err := next.assign(fields, fresh); err != nil {
		return nil, s.fail(c, "", err.Error(), "")
	}
	return next, nil
}

// assign gives ids to the fields at the indexes in fresh: first to all of them,
// then to what is nested in each, which for a new table are the ids that
// a catalog assigns by itself.
func (s *stagedSchema) assign(fields []iceberggo.NestedField, fresh []int) error {
	nextID := func() int { s.LastColumnID++; return s.LastColumnID }
	part := make([]iceberggo.NestedField, len(fresh))
	for i, at := range fresh {
		part[i] = fields[at]
	}
	assigned, err := iceberggo.AssignFreshSchemaIDs(iceberggo.NewSchema(0, part...), nextID)
	if err != nil {
		return err
	}
	for i, at := range fresh {
		fields[at] = assigned.Field(i)
	}
	s.Iceberg = iceberggo.NewSchemaWithIdentifiers(0, s.identifiers(fields), fields...)
	return nil
}

// identifiers returns the ids of the key columns where Iceberg lets them identify a
// row: in a table with one row a key, and with key columns that are neither
// nested nor floating.
func (s *stagedSchema) identifiers(fields []iceberggo.NestedField) []int {
	ids := []int{}
	if s.Mode != modeUpsert {
		return ids
	}
	for _, i := range s.Source.KeyIndexes() {
		switch fields[i].Type.(type) {
		case iceberggo.Float32Type, iceberggo.Float64Type, *iceberggo.ListType, *iceberggo.MapType, *iceberggo.StructType:
			return []int{}
		}
		ids = append(ids, fields[i].ID)
	}
	slices.Sort(ids) // as they come back from a metadata file
	return ids
}

// checkKey refuses a change of the key: rows that were written are found by it.
func (s *stagedSchema) checkKey(c *schema.Change) error {
	if s.Source == c.After || s.Iceberg == nil || c.Kind == schema.ChangeReset {
		if s.Mode == modeUpsert && !c.After.HasKey() {
			return s.fail(c, "", "the table lost its primary key, and upsert mode needs one", startAgain)
		}
		return nil
	}
	key := slices.Clone(s.Source.PrimaryKey)
	for i, name := range key {
		if to, ok := c.Renames[name]; ok && c.Kind == schema.ChangeRenameColumn {
			key[i] = to
		}
	}
	if !slices.Equal(key, c.After.PrimaryKey) {
		return s.fail(c, "", fmt.Sprintf("the primary key goes from %v to %v", key, c.After.PrimaryKey), startAgain)
	}
	return nil
}

func (s *stagedSchema) fail(c *schema.Change, column, msg, hint string) error {
	return &EvolveError{Table: s.Target, Position: c.Position, Change: c.Kind, Column: column, Msg: msg, Hint: hint}
}

// changelogFields are the columns after the table's own in append mode.
var changelogFields = []iceberggo.NestedField{
	{Name: columnOp, Type: iceberggo.PrimitiveTypes.String, Required: true, Doc: "r read by the snapshot, c insert, u update, d delete, ub the row before an update"},
	{Name: columnCommitTime, Type: iceberggo.PrimitiveTypes.TimestampTz, Doc: "time of the commit at the source"},
	{Name: columnPos, Type: iceberggo.PrimitiveTypes.Int64, Doc: "log position of the commit"},
	{Name: columnOrdinal, Type: iceberggo.PrimitiveTypes.Int64, Doc: "number of the row in its transaction"},
	{Name: columnTx, Type: iceberggo.PrimitiveTypes.Int64, Doc: "number of the transaction"},
}

func appendChangelogFields(fields []iceberggo.NestedField, fresh []int, old map[string]iceberggo.NestedField) ([]iceberggo.NestedField, []int) {
	for _, f := range changelogFields {
		if was, ok := old[f.Name]; ok {
			f.ID = was.ID
		} else {
			fresh = append(fresh, len(fields))
		}
		fields = append(fields, f)
	}
	return fields, fresh
}

// stagedSchemaJSON is the form of a stagedSchema in checkpoints.
type stagedSchemaJSON struct {
	Source       *schema.Table     `json:"source"`
	Target       schema.TableID    `json:"target"`
	Mode         string            `json:"mode"`
	Iceberg      *iceberggo.Schema `json:"iceberg"`
	LastColumnID int               `json:"last-column-id"`
}

// MarshalJSON writes the schema for a checkpoint.
func (s *stagedSchema) MarshalJSON() ([]byte, error) {
	return json.Marshal(stagedSchemaJSON{Source: s.Source, Target: s.Target, Mode: s.Mode.String(), Iceberg: s.Iceberg, LastColumnID: s.LastColumnID})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *stagedSchema) UnmarshalJSON(data []byte) error {
	var j stagedSchemaJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	modes := map[string]writeMode{modeUpsert.String(): modeUpsert, modeAppend.String(): modeAppend}
	mode, ok := modes[j.Mode]
	if !ok || j.Source == nil || j.Iceberg == nil {
		return fmt.Errorf("iceberg: the checkpoint holds an unreadable schema (mode %q; known are %v)", j.Mode, slices.Sorted(maps.Keys(modes)))
	}
	*s = stagedSchema{Source: j.Source, Target: j.Target, Mode: mode, Iceberg: j.Iceberg, LastColumnID: j.LastColumnID}
	return nil
}
