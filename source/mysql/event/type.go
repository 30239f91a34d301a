package event

import "fmt"

// Type is the type of an event, named and numbered as in the servers' sources.
type Type byte

// The types of MySQL, up to XA_PREPARE those of MariaDB too.
const (
	StartV3Type            Type = 1
	QueryType              Type = 2
	StopType               Type = 3
	RotateType             Type = 4
	IntVarType             Type = 5
	AppendBlockType        Type = 9
	DeleteFileType         Type = 11
	RandType               Type = 13
	UserVarType            Type = 14
	FormatType             Type = 15
	XIDType                Type = 16
	BeginLoadType          Type = 17
	ExecuteLoadType        Type = 18
	TableMapType           Type = 19
	WriteRowsV1            Type = 23
	UpdateRowsV1           Type = 24
	DeleteRowsV1           Type = 25
	IncidentType           Type = 26
	HeartbeatType          Type = 27
	IgnorableType          Type = 28
	RowsQueryType          Type = 29
	WriteRows              Type = 30
	UpdateRows             Type = 31
	DeleteRows             Type = 32
	GTIDType               Type = 33
	AnonymousGTIDType      Type = 34
	PreviousGTIDsType      Type = 35
	TransactionContextType Type = 36
	ViewChangeType         Type = 37
	XAPrepareType          Type = 38
	PartialUpdateRows      Type = 39
	PayloadType            Type = 40
	HeartbeatV2Type        Type = 41
	GTIDTaggedType         Type = 42
)

// The types of MariaDB.
const (
	AnnotateRowsType     Type = 160
	BinlogCheckpointType Type = 161
	MariaGTIDType        Type = 162
	GTIDListType         Type = 163
	StartEncryptionType  Type = 164
	QueryCompressedType  Type = 165
	WriteRowsCompV1      Type = 166
	UpdateRowsCompV1     Type = 167
	DeleteRowsCompV1     Type = 168
	WriteRowsComp        Type = 169
	UpdateRowsComp       Type = 170
	DeleteRowsComp       Type = 171
)

var typeNames = [256]string{
	StartV3Type: "START_V3", QueryType: "QUERY", StopType: "STOP", RotateType: "ROTATE", IntVarType: "INTVAR", AppendBlockType: "APPEND_BLOCK",
	DeleteFileType: "DELETE_FILE", RandType: "RAND", UserVarType: "USER_VAR", FormatType: "FORMAT_DESCRIPTION", XIDType: "XID",
	BeginLoadType: "BEGIN_LOAD_QUERY", ExecuteLoadType: "EXECUTE_LOAD_QUERY", TableMapType: "TABLE_MAP", WriteRowsV1: "WRITE_ROWS_V1",
	UpdateRowsV1: "UPDATE_ROWS_V1", DeleteRowsV1: "DELETE_ROWS_V1", IncidentType: "INCIDENT", HeartbeatType: "HEARTBEAT",
	IgnorableType: "IGNORABLE", RowsQueryType: "ROWS_QUERY", WriteRows: "WRITE_ROWS", UpdateRows: "UPDATE_ROWS", DeleteRows: "DELETE_ROWS",
	GTIDType: "GTID", AnonymousGTIDType: "ANONYMOUS_GTID", PreviousGTIDsType: "PREVIOUS_GTIDS", TransactionContextType: "TRANSACTION_CONTEXT",
	ViewChangeType: "VIEW_CHANGE", XAPrepareType: "XA_PREPARE", PartialUpdateRows: "PARTIAL_UPDATE_ROWS", PayloadType: "TRANSACTION_PAYLOAD",
	HeartbeatV2Type: "HEARTBEAT_V2", GTIDTaggedType: "GTID_TAGGED", AnnotateRowsType: "ANNOTATE_ROWS", BinlogCheckpointType: "BINLOG_CHECKPOINT",
	MariaGTIDType: "MARIADB_GTID", GTIDListType: "GTID_LIST", StartEncryptionType: "START_ENCRYPTION", QueryCompressedType: "QUERY_COMPRESSED",
	WriteRowsCompV1: "WRITE_ROWS_COMPRESSED_V1", UpdateRowsCompV1: "UPDATE_ROWS_COMPRESSED_V1", DeleteRowsCompV1: "DELETE_ROWS_COMPRESSED_V1",
	WriteRowsComp: "WRITE_ROWS_COMPRESSED", UpdateRowsComp: "UPDATE_ROWS_COMPRESSED", DeleteRowsComp: "DELETE_ROWS_COMPRESSED",
}

// Known reports whether the type is one of those above.
func (t Type) Known() bool { return typeNames[t] != "" }

// String returns the server's name of the type, without _EVENT.
func (t Type) String() string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return fmt.Sprintf("type %d", byte(t))
}

// IsRows reports whether events of the type carry rows, see [Rows].
func (t Type) IsRows() bool { return rowsKinds[t].kind != 0 }
