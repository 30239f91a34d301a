package syntax

// Statement is what [Parse] returns: one of the types of this file.
type Statement interface{ statement() }

// TableName names a table; Database is empty where the statement leaves it to the
// session's default.
type TableName struct{ Database, Table string }

// CreateTable is CREATE TABLE.
type CreateTable struct {
	Table                             TableName
	OrReplace, IfNotExists, Temporary bool
	// Like is the table whose definition is copied, nil for none.
	Like *TableName
	// Query says that rows, and columns, come from a SELECT.
	Query bool
	Elements
	Options TableOptions
}

// Elements are columns and keys, each in the order of the text.
type Elements struct {
	Columns []Column
	// Keys holds the keys that columns declare, too.
	Keys []Key
	// Periods are MariaDB's PERIOD FOR.
	Periods []Period
}

// Period is PERIOD FOR Name (Start, End); Name is SYSTEM_TIME or an application's.
type Period struct{ Name, Start, End string }

// TableOptions are the options of a table that its definition depends on.
type TableOptions struct {
	// Charset and Collation are the defaults of the columns; empty: not given.
	// Charset DEFAULT is that of the database.
	Charset, Collation string
	Comment            *string
	Engine             string
	// SystemVersioning is MariaDB's WITH SYSTEM VERSIONING.
	SystemVersioning bool
	// Sequence: it is no table of rows but a sequence.
	Sequence bool
}

// CreateDatabase is CREATE DATABASE.
type CreateDatabase struct {
	Name                   string
	OrReplace, IfNotExists bool
	Charset, Collation     string
}

// AlterDatabase is ALTER DATABASE; an empty Name is the session's default.
type AlterDatabase struct{ Name, Charset, Collation string }

// DropDatabase is DROP DATABASE.
type DropDatabase struct {
	Name     string
	IfExists bool
}

// DropTable is DROP TABLE.
type DropTable struct {
	Tables              []TableName
	Temporary, IfExists bool
}

// RenameTable is RENAME TABLE.
type RenameTable struct {
	Renames  []Rename
	IfExists bool
}

// Rename is one renaming; those of a statement follow each other.
type Rename struct{ From, To TableName }

// TruncateTable is TRUNCATE.
type TruncateTable struct{ Table TableName }

// AlterTable is ALTER TABLE; CREATE INDEX and DROP INDEX are ALTER TABLE with one part.
type AlterTable struct {
	Table            TableName
	IfExists, Ignore bool
	Parts            []AlterPart
}

// RowChange is a statement that changes rows itself: in the log only under
// binlog_format STATEMENT or MIXED. Tables are all that it may change.
type RowChange struct {
	Verb   string
	Tables []TableName
}

func (*CreateTable) statement()    {}
func (*CreateDatabase) statement() {}
func (*AlterDatabase) statement()  {}
func (*DropDatabase) statement()   {}
func (*DropTable) statement()      {}
func (*RenameTable) statement()    {}
func (*TruncateTable) statement()  {}
func (*AlterTable) statement()     {}
func (*RowChange) statement()      {}

// AlterKind tells the kinds of [AlterPart] apart.
type AlterKind uint8

// The kinds of part of an ALTER TABLE, with the fields that they use.
const (
	AddColumn         AlterKind = iota + 1 // Column, Place, IfExists (IF NOT EXISTS)
	DropColumn                             // Name, IfExists
	ModifyColumn                           // Name (the column's), Column, Place, IfExists
	ChangeColumn                           // Name, Column, Place, IfExists
	RenameColumn                           // Name, NewName, IfExists
	SetDefault                             // Name, Column.Default and Column.DefaultIsExpression; a nil one drops it
	SetVisible                             // Name
	SetInvisible                           // Name
	AddKey                                 // Key
	DropKey                                // Name, IfExists
	DropPrimaryKey                         // IfExists
	DropConstraint                         // Name, IfExists: a unique key, a foreign key or a check
	RenameKey                              // Name, NewName, IfExists
	RenameTo                               // Table
	ConvertCharset                         // Options.Charset, Options.Collation
	SetOptions                             // Options
	DropPartition                          // Name: the names in the text
	TruncatePartition                      // Name
	ExchangePartition                      // Name, Table
	PartitionToTable                       // Name, Table: MariaDB's CONVERT PARTITION ... TO TABLE
	TableToPartition                       // Table: MariaDB's CONVERT TABLE ... TO PARTITION
	ImportTablespace                       // Name is empty, or the partitions
	DiscardTablespace                      // same
	AddVersioning                          // MariaDB's ADD SYSTEM VERSIONING
	DropVersioning
	AddPeriod  // Period
	DropPeriod // Name
)

// AlterPart is one of the things that an ALTER TABLE does.
type AlterPart struct {
	Kind          AlterKind
	Name, NewName string
	Column        Column
	Place         Place
	Key           Key
	Table         TableName
	Options       TableOptions
	Period        Period
	IfExists      bool
}

// Place is where a column goes: First, or behind After, or else where it is, a new
// one to the end.
type Place struct {
	First bool
	After string
}

// Column is the definition of a column.
type Column struct {
	Name string
	Type Type
	// Null is set by NULL, NotNull by NOT NULL; neither of them is the usual case.
	Null, NotNull bool
	// Default is the value of DEFAULT as text, nil for none or NULL.
	Default *string
	// DefaultNull is set by DEFAULT NULL.
	DefaultNull bool
	// DefaultIsExpression: Default is an expression, or a function like CURRENT_TIMESTAMP.
	DefaultIsExpression bool
	AutoIncrement       bool
	Comment             string
	// Generated is VIRTUAL or STORED for a generated column, and Expression what
	// it is generated from.
	Generated  string
	Expression string
	Invisible  bool
	SRID       *uint32
	// Compressed is MariaDB's COMPRESSED.
	Compressed bool
	// RowStart and RowEnd: GENERATED ALWAYS AS ROW START or END.
	RowStart, RowEnd bool
	// Versioned is set by WITH SYSTEM VERSIONING.
	Versioned bool
}

// Type is the type of a column as written, under its first name: int for INTEGER.
type Type struct {
	Name string
	// Length and Scale are the numbers in parentheses, -1 where there are none.
	Length, Scale      int
	Unsigned, Zerofill bool
	// Labels are those of ENUM and SET.
	Labels []string
	// Charset and Collation as written, empty where not. National characters
	// have the charset "national".
	Charset, Collation string
	// Binary is the attribute BINARY: the collation of the code points.
	Binary bool
}

// Key is a key or an index; foreign keys are here since each of them has an index.
type Key struct {
	// Name is empty where the server makes one up; Symbol is that of CONSTRAINT.
	Name, Symbol string
	Kind         KeyKind
	Parts        []KeyPart
	IfNotExists  bool
	// OrReplace: MariaDB's CREATE OR REPLACE INDEX.
	OrReplace bool
	// Hash: USING HASH.
	Hash bool
	// Inline: declared with the column.
	Inline bool
}

// KeyKind tells the kinds of key apart.
type KeyKind uint8

// The kinds of key.
const (
	Index KeyKind = iota + 1
	PrimaryKey
	UniqueKey
	// OtherIndex is FULLTEXT, SPATIAL or VECTOR.
	OtherIndex
	ForeignKey
)

// KeyPart is a column of a key, or an expression.
type KeyPart struct {
	// Column is empty for an expression.
	Column string
	// Prefix is the length of the prefix that is indexed, 0 for the whole column.
	Prefix     int
	Descending bool
	// WithoutOverlaps: Column is a period (MariaDB).
	WithoutOverlaps bool
}
