package binlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"github.com/freshet-cdc/freshet/schema"
	"github.com/freshet-cdc/freshet/source/mysql/ddl"
	"github.com/freshet-cdc/freshet/source/mysql/event"
	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// scanScript drives a scanner and a decoder by hand, as groupReader does.
type scanScript struct {
	t       *testing.T
	log     *testLog
	events  [][]byte
	scan    *scanner
	mem     *memory.CheckedAllocator
	dec     *decoder
	payload event.PayloadReader
	out     strings.Builder
}

// smallDefinition is a table of an INT key and a VARCHAR.
func smallDefinition(name string) ddl.Definition {
	return ddl.Definition{ID: schema.TableID{Schema: "d", Table: name},
		Columns: []ddl.Column{{Definition: value.Definition{Name: "id", ColumnType: "int"}},
			{Definition: value.Definition{Name: "v", ColumnType: "varchar(50)", Charset: "utf8mb4", Nullable: true}}},
		Keys: []ddl.Key{{Name: "PRIMARY", Primary: true, Unique: true, Parts: []ddl.KeyPart{{Column: "id"}}}}}
}

// smallOptions captures the tables t and u, and not x.
func smallOptions() Options {
	return Options{Catalog: ddl.NewCatalog(ddl.Options{Version: 90700, ServerCollation: "utf8mb4_0900_ai_ci"},
		[]ddl.Database{{Name: "d", Charset: "utf8mb4", Collation: "utf8mb4_0900_ai_ci", Complete: true}},
		[]ddl.Definition{smallDefinition("t"), smallDefinition("u"), smallDefinition("x")}),
		Captured: func(id schema.TableID) bool { return id.Table != "x" }}
}

func newScanScript(t *testing.T) *scanScript {
	s := &scanScript{t: t, mem: memory.NewCheckedAllocator(memory.DefaultAllocator), log: &testLog{name: "binlog.000001", time: 1_790_000_000}}
	s.reset(smallOptions())
	s.dec = newDecoder(s.mem)
	return s
}

func (s *scanScript) reset(o Options) {
	s.scan = o.scanner()
	s.scan.spare = make(chan []rowsEvent, 2)
}

// option sets what the stream begins with: by-gtid, after=FILE:OFFSET, from=OFFSET,
// since=SECONDS, skip-events=N, skip-rows=N, any-xa, max-xa=N.
func (s *scanScript) options(args []datadriven.CmdArg) {
	o := smallOptions()
	for _, a := range args {
		number := func() uint64 {
			n, err := strconv.ParseUint(a.Vals[0], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
		switch a.Key {
		case "by-gtid":
			o.ByGTID = true
		case "after":
			o.Files = Files{Base: "binlog"}
			o.After = 1<<40 | number()
		case "follow":
			o.Follow, o.After = true, number()<<40|500
		case "since":
			o.Since = int64(number())
		case "skip-events":
			o.SkipEvents = number()
		case "skip-rows":
			o.SkipRows = number()
		case "any-xa":
			o.UnknownXA = func(id string, pos uint64) error {
				fmt.Fprintf(&s.out, "unknown XA %s at %d\n", id, pos&maxOffset)
				return nil
			}
		case "max-xa":
			o.MaxPrepared = int(number())
		default:
			s.t.Fatalf("unknown option %q", a.Key)
		}
	}
	s.reset(o)
}

var tableNumbers = map[string]uint64{"t": 1, "u": 2, "x": 3}

// write adds the events that a line describes.
func (s *scanScript) write(line string) {
	f := strings.Fields(line)
	if s.special(f) {
		return
	}
	from := len(s.log.data)
	s.plain(s.log, f)
	s.events = append(s.events, cutEvents(s.log.data[from:])...)
}

func cutEvents(data []byte) [][]byte {
	var out [][]byte
	for len(data) > 0 {
		n := binary.LittleEndian.Uint32(data[9:])
		out = append(out, data[:n])
		data = data[n:]
	}
	return out
}

// special writes what is not part of a file, or changes files.
func (s *scanScript) special(f []string) bool {
	artificial := func(t event.Type, body []byte) {
		s.events = append(s.events, makeEvent(t, event.FlagArtificial, 0, 0, body, true))
	}
	switch f[0] {
	case "file": // the server begins to send a file, at an offset
		s.log = &testLog{name: f[1], number: s.log.number, time: s.log.time}
		offset := uint64(FirstOffset)
		if len(f) > 2 {
			offset, _ = strconv.ParseUint(f[2], 10, 64)
			s.log.data = make([]byte, offset-FirstOffset)
		}
		artificial(event.RotateType, append(binary.LittleEndian.AppendUint64(nil, offset), f[1]...))
		body := formatBody("9.7.0-test")
		if len(f) > 2 {
			s.events = append(s.events, makeEvent(event.FormatType, 0, s.log.time, 0, body, true))
		} else {
			before := len(s.log.data)
			s.log.add(event.FormatType, 0, body)
			s.events = append(s.events, cutEvents(s.log.data[before:])...)
		}
	case "heartbeat":
		s.events = append(s.events, s.log.heartbeat())
	case "skip": // bytes that the server does not send
		n, _ := strconv.Atoi(f[1])
		s.log.data = append(s.log.data, make([]byte, n)...)
	case "time":
		n, _ := strconv.Atoi(f[1])
		s.log.time = uint32(n)
	default:
		return false
	}
	return true
}

// plain writes one event.
func (s *scanScript) plain(l *testLog, f []string) {
	values := func(fields []string) []byte {
		id, err := strconv.Atoi(fields[0])
		if err != nil {
			s.t.Fatalf("%v: %v", f, err)
		}
		return row(nil, id, fields[1])
	}
	switch f[0] {
	case "payload":
		l.payload(func(inner *testLog) {
			for _, line := range strings.Split(strings.Join(f[1:], " "), ";") {
				s.plain(inner, strings.Fields(line))
			}
		})
	case "gtid":
		l.gtid()
	case "query":
		l.query(strings.Join(f[1:], " "))
	case "xid":
		l.xid()
	case "rotate":
		l.rotate(f[1])
	case "map":
		l.tableMap(tableNumbers[f[1]], f[1], "iv"+strings.Join(f[2:], ""))
	case "insert":
		l.rows(event.WriteRows, tableNumbers[f[1]], 2, values(f[2:]))
	case "inserts": // n rows
		n, _ := strconv.Atoi(f[2])
		var area []byte
		for i := range n {
			area = row(area, i, "x")
		}
		l.rows(event.WriteRows, tableNumbers[f[1]], 2, area)
	case "delete":
		l.rows(event.DeleteRows, tableNumbers[f[1]], 2, values(f[2:]))
	case "update":
		l.rows(event.UpdateRows, tableNumbers[f[1]], 2, append(values(f[2:4]), values(f[4:])...))
	case "prepare":
		p := append([]byte{0}, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
		if len(f) > 2 {
			p[0] = 1 // one phase
		}
		l.add(event.XAPrepareType, 0, append(p, f[1][0]))
	case "event":
		n, _ := strconv.Atoi(f[1])
		flags, _ := strconv.ParseUint(f[2], 0, 16)
		l.add(event.Type(n), event.Flags(flags), []byte(strings.Join(f[3:], " ")))
	default:
		s.t.Fatalf("unknown line %q", f)
	}
}

// run scans what was written; groups are printed as they are cut.
func (s *scanScript) run() error {
	for len(s.events) > 0 {
		p := s.events[0]
		s.events = s.events[1:]
		if err := s.event(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanScript) event(p []byte) error {
	v, err := s.scan.event(p, &segment{})
	if err != nil {
		return err
	}
	switch v {
	case cutAfter:
		s.print(s.scan.take())
	case unpack:
		if err := s.payload.Open(&s.scan.payload, 1<<20); err != nil {
			return err
		}
		inner, err := io.ReadAll(&s.payload)
		if err != nil {
			return err
		}
		for _, q := range cutEvents(inner) {
			if err := s.event(q); err != nil {
				return err
			}
		}
		return s.scan.endNested()
	}
	return nil
}

// print decodes and prints a group.
func (s *scanScript) print(g *rawGroup) {
	if g == nil || g.empty() {
		s.out.WriteString("nothing to cut\n")
		return
	}
	d := s.dec.decode(g)
	if d.err != nil {
		fmt.Fprintf(&s.out, "error: %v\n", d.err)
		return
	}
	defer d.group.Release()
	fmt.Fprintf(&s.out, "group position=%s gtids=", d.group.Files.Format(d.group.Position))
	for _, g := range d.group.GTIDs {
		fmt.Fprintf(&s.out, "%d,", g.Number)
	}
	if d.group.InTransaction {
		s.out.WriteString(" in-transaction")
	}
	if d.ordinals > 0 || d.continues {
		fmt.Fprintf(&s.out, " carry=%d continues=%v", d.ordinals, d.continues)
	}
	if d.group.Executed != nil {
		fmt.Fprintf(&s.out, " executed=%s", d.group.Executed)
	}
	for _, p := range d.group.Prepared {
		fmt.Fprintf(&s.out, " prepared=%s(%d)", p.ID, p.Size)
	}
	s.out.WriteString("\n")
	for _, r := range d.group.Rows {
		b := r.Batch
		fmt.Fprintf(&s.out, "  %s v%d", b.Table.ID.Table, b.Table.Version)
		if b.Rows() > 20 {
			fmt.Fprintf(&s.out, " %d rows", b.Rows())
		}
		for i := range min(b.Rows(), 20) {
			fmt.Fprintf(&s.out, " %c%s=%s#%d", b.Op(i), b.Record.Column(0).ValueStr(i), b.Record.Column(1).ValueStr(i), b.Ordinals[i])
		}
		for _, tx := range b.Txs {
			fmt.Fprintf(&s.out, " [%d rows of %d at %d]", tx.Rows, tx.ID, tx.Commit&maxOffset)
		}
		s.out.WriteString("\n")
	}
	for _, e := range d.group.Effects {
		fmt.Fprintf(&s.out, "  %s: %s\n", e.Table.Table, effectText(e))
	}
	if len(d.head) > 0 {
		fmt.Fprintf(&s.out, "  %d batches go on in an earlier transaction\n", len(d.head))
	}
}

// TestScan runs testdata/scan: events in, groups out. "start" begins a stream,
// "cut" ends a group at the last place outside a transaction, "cut here" where the
// scanner stands.
func TestScan(t *testing.T) {
	datadriven.Walk(t, "testdata/scan", func(t *testing.T, path string) {
		s := newScanScript(t)
		defer s.payload.Close()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			if d.Cmd == "start" {
				s.events, s.log = nil, &testLog{time: 1_790_000_000}
				s.options(d.CmdArgs)
			}
			for line := range strings.Lines(d.Input) {
				s.write(strings.TrimSpace(line))
			}
			if err := s.run(); err != nil {
				return s.out.String() + "error: " + err.Error() + "\n"
			}
			switch {
			case d.Cmd == "cut" && d.HasArg("here"):
				s.print(s.scan.take())
			case d.Cmd == "cut":
				s.print(s.scan.takeMarked())
			}
			if s.scan.full() {
				s.out.WriteString("full\n")
			}
			return s.out.String()
		})
		s.dec.release()
		s.mem.AssertSize(t, 0)
	})
}

// FuzzScan: whatever the other side sends ends in groups or an error.
func FuzzScan(f *testing.F) {
	for _, name := range []string{"mysql97", "mariadb118"} {
		f.Add(bytes.Join(eventsOf(capturedLog(f, name)), nil), strings.HasPrefix(name, "maria"))
	}
	l := newTestLog("binlog.000001")
	l.orders(10)
	f.Add(bytes.Join(eventsOf(l), nil), false)
	f.Fuzz(func(t *testing.T, data []byte, mariadb bool) {
		o := testOptions(mariadb)
		s := o.scanner()
		s.spare = make(chan []rowsEvent, 1)
		d := newDecoder(memory.DefaultAllocator)
		defer d.release()
		for len(data) >= event.HeaderSize {
			n := int(binary.LittleEndian.Uint32(data[9:]))
			if n < event.HeaderSize || n > len(data) {
				return
			}
			v, err := s.event(reseal(data[:n]), &segment{})
			if err != nil || v == unpack {
				return
			}
			data = data[n:]
			if g := s.takeMarked(); g != nil {
				if out := d.decode(g); out.err == nil {
					out.group.Release()
				} else {
					return
				}
			}
		}
	})
}

// reseal gives an event the checksum that fits, so that the fuzzer gets further.
func reseal(p []byte) []byte {
	p = bytes.Clone(p)
	if n := len(p) - 4; n >= event.HeaderSize {
		binary.LittleEndian.PutUint32(p[n:], crc32.ChecksumIEEE(p[:n]))
	}
	return p
}
