package event

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// magic is how a binlog file begins.
const magic = "\xfebin"

// capturedFile returns a file that a real server wrote, see testdata/binlogs/*.sql.
func capturedFile(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", "binlogs", name+".binlog"))
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := bytes.CutPrefix(data, []byte(magic))
	if !ok {
		t.Fatalf("%s is no binlog", name)
	}
	return rest
}

// eachEvent calls fn for every event of a file or of an unpacked payload.
func eachEvent(data []byte, fn func(h Header, event []byte) error) error {
	for len(data) > 0 {
		h, err := ParseHeader(data)
		if err != nil {
			return err
		}
		if uint64(h.Size) > uint64(len(data)) {
			return io.ErrUnexpectedEOF
		}
		if err := fn(h, data[:h.Size]); err != nil {
			return err
		}
		data = data[h.Size:]
	}
	return nil
}

// printer writes events as text.
type printer struct {
	format  *Format
	out     strings.Builder
	indent  string
	table   TableMap
	inflate Inflater
	payload PayloadReader
}

// event prints one event.
func (p *printer) event(h Header, event []byte) error {
	if err := h.Check(); err != nil {
		return err
	}
	body, err := p.format.Body(h, event)
	if err != nil {
		return err
	}
	p.out.WriteString(p.indent + h.Type.String())
	defer p.out.WriteString("\n")
	switch {
	case h.Type.IsRows():
		return p.rows(h, body)
	case h.Type == FormatType:
		if p.format, err = ParseFormat(body); err == nil {
			fmt.Fprintf(&p.out, " mariadb=%v checksum=%d rows-header=%d", p.format.MariaDB, p.format.Checksum, p.format.headerLength(WriteRowsV1, -1))
		}
		return err
	case h.Type == PayloadType:
		return p.unpack(body)
	case h.Type == TableMapType:
		return p.tableMap(body)
	}
	return p.small(h, body)
}

func (p *printer) small(h Header, body []byte) (err error) {
	switch h.Type {
	case QueryType, QueryCompressedType:
		return p.query(h, body)
	case ExecuteLoadType:
		var q Query
		err = q.ParseExecuteLoad(p.format, body)
		fmt.Fprintf(&p.out, " %q", q.SQL)
	case RotateType:
		var e Rotate
		err = e.Parse(body)
		fmt.Fprintf(&p.out, " %s at %d", e.File, e.Position)
	case GTIDType, AnonymousGTIDType, GTIDTaggedType:
		var e GTID
		err = e.Parse(h.Type, body)
		fmt.Fprintf(&p.out, " uuid=%v tag=%q number=%d statements=%v logical=%d,%d times=%v,%v length=%d versions=%d,%d", e.UUID != UUID{}, e.Tag, e.Number, e.MayHaveStatements,
			e.LastCommitted, e.SequenceNumber, e.ImmediateCommit/1e15, e.OriginalCommit/1e15, e.Length, e.ImmediateVersion, e.OriginalVersion)
	case MariaGTIDType:
		var e MariaGTID
		err = e.Parse(body)
		fmt.Fprintf(&p.out, " %d-%d-%d flags=%#x extra=%#x", e.Domain, h.ServerID, e.Sequence, e.Flags, e.Extra)
		if e.Flags&(MariaPreparedXA|MariaCompletedXA) != 0 {
			fmt.Fprintf(&p.out, " xid=%d,%s,%s", e.XID.FormatID, e.XID.Global, e.XID.Branch)
		}
	case GTIDListType:
		err = GTIDList(body, func(e MariaGTIDEntry) { fmt.Fprintf(&p.out, " %d-%d-%d", e.Domain, e.Server, e.Sequence) })
	case PreviousGTIDsType:
		err = PreviousGTIDs(body, func(iv GTIDInterval) error {
			fmt.Fprintf(&p.out, " tag=%q:%d-%d", iv.Tag, iv.First, iv.Last)
			return nil
		})
	case XIDType:
		_, err = XID(body)
	case XAPrepareType:
		var e XAPrepare
		err = e.Parse(body)
		fmt.Fprintf(&p.out, " one-phase=%v xid=%d,%s,%s", e.OnePhase, e.FormatID, e.Global, e.Branch)
	case RowsQueryType:
		var sql []byte
		sql, err = RowsQuery(body)
		fmt.Fprintf(&p.out, " %q", sql)
	case AnnotateRowsType:
		fmt.Fprintf(&p.out, " %q", AnnotateRows(body))
	case BinlogCheckpointType:
		var name []byte
		name, err = BinlogCheckpoint(body)
		fmt.Fprintf(&p.out, " %s", name)
	}
	return err
}

func (p *printer) query(h Header, body []byte) error {
	var q Query
	if err := q.Parse(p.format, body); err != nil {
		return err
	}
	if h.Type == QueryCompressedType {
		sql, err := p.inflate.Inflate(nil, q.SQL, 1<<20)
		if err != nil {
			return err
		}
		q.SQL = sql
	}
	fmt.Fprintf(&p.out, " %q database=%s mode=%#x charsets=%d,%d,%d,%d utf8mb4=%d overrides=%x zone=%s", q.SQL, q.Database, q.SQLMode, q.ClientCharset,
		q.ConnectionCollation, q.ServerCollation, q.DatabaseCollation, q.DefaultUTF8MB4Collation, q.CollationOverrides, q.TimeZone)
	if q.ImplicitTimestamps {
		p.out.WriteString(" implicit-timestamps")
	}
	if q.AlterFlags != 0 {
		fmt.Fprintf(&p.out, " alter=%#x", q.AlterFlags)
	}
	return nil
}

func (p *printer) tableMap(body []byte) error {
	if err := p.table.Parse(p.format, body); err != nil {
		return err
	}
	t := &p.table
	fmt.Fprintf(&p.out, " %s.%s types=%v metas=%v nullable=%08b", t.Database, t.Table, t.Types, t.Metas, t.Nullable)
	m, err := t.Metadata()
	if err != nil {
		return err
	}
	fmt.Fprintf(&p.out, "\n  %+v", *m)
	return nil
}

func (p *printer) rows(h Header, body []byte) error {
	var r Rows
	if err := r.Parse(p.format, h.Type, body); err != nil {
		return err
	}
	id, err := TableID(p.format, h.Type, body)
	if err != nil || id != r.TableID || id != p.table.TableID {
		return fmt.Errorf("table id %d and %d, mapped was %d: %v", id, r.TableID, p.table.TableID, err)
	}
	if r.Compressed {
		if r.Area, err = p.inflate.Inflate(nil, r.Area, 1<<20); err != nil {
			return err
		}
	}
	fmt.Fprintf(&p.out, " kind=%d flags=%d columns=%d before=%08b after=%08b area=%x", r.Kind, r.Flags, r.Columns, r.Before, r.After, r.Area)
	return nil
}

func (p *printer) unpack(body []byte) error {
	var e Payload
	if err := e.Parse(body); err != nil {
		return err
	}
	fmt.Fprintf(&p.out, " compression=%d\n", e.Compression)
	if err := p.payload.Open(&e, 1<<20); err != nil {
		return err
	}
	inner, err := io.ReadAll(&p.payload)
	if err != nil {
		return err
	}
	if uint64(len(inner)) != e.Size {
		return fmt.Errorf("unpacked %d bytes, announced were %d", len(inner), e.Size)
	}
	if p.format == nil {
		return errors.New("a payload in front of the format")
	}
	format := *p.format
	format.Checksum = ChecksumNone
	q := printer{format: &format, indent: p.indent + "  "}
	err = eachEvent(inner, q.event)
	p.out.WriteString(q.out.String() + p.indent + "end of payload")
	return err
}

// TestCaptured prints every event of files that real servers wrote.
func TestCaptured(t *testing.T) {
	datadriven.Walk(t, "testdata/captured", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var p printer
			defer p.payload.Close()
			if err := eachEvent(capturedFile(t, filepath.Base(path)), p.event); err != nil {
				fmt.Fprintf(&p.out, "error: %v\n", err)
			}
			return p.out.String()
		})
	})
}
