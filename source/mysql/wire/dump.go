package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// DumpRequest says where the dump of the binlog begins and who we are.
type DumpRequest struct {
	// ServerID is our number among the replicas of the server.
	ServerID uint32
	// UUID, where set, is our server_uuid: MySQL ends an older dump with the same
	// one, or, without it, with the same ServerID.
	UUID string
	// GTIDSet goes first: the dump has everything that is not in it, in the
	// server's own text. ByGTID says that it counts even when empty.
	ByGTID  bool
	GTIDSet string
	// Strict is MariaDB's gtid_strict_mode for the request.
	Strict bool
	// File and Position are the place without GTIDs. Position must be the start of an event, 4 at least.
	File     string
	Position uint64
	// Heartbeat is how often the server sends an event while there is nothing else.
	// 0 leaves it to the server, which then may be silent for long.
	Heartbeat time.Duration
	// Hidden leaves us out of SHOW REPLICAS, for a short look.
	Hidden bool
	// Statements asks MariaDB for the statements that made the rows, where its log has
	// them (binlog_annotate_row_events); MySQL sends what it has.
	Statements bool
	// EndAtEOF ends the dump with an EOF packet where the binlog ends. A server may
	// send what it has in its newest file only up to the last sync.
	EndAtEOF bool
}

// dumpState belongs to a connection that sends the binlog.
type dumpState struct {
	ctx     context.Context
	stop    func() bool
	silence time.Duration
	next    time.Time
}

// Dump asks for the binlog. From then on the connection is read with ReadRaw only:
// packets with events, each behind a byte 0x00, or an ERR (0xff) or EOF packet (0xfe).
// The first packet has sequence number 1. ctx ends the connection at any later time, too.
func (c *Conn) Dump(ctx context.Context, r DumpRequest) error {
	if c.dump.Load() != nil {
		return errors.New("the connection dumps the binlog already")
	}
	payload, code, err := c.dumpCommand(r)
	if err != nil {
		return err
	}
	for _, sql := range c.dumpSettings(r) {
		if err := c.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if !r.Hidden && c.listsReplicas() {
		if err := c.register(ctx, r.ServerID); err != nil {
			return err
		}
	}
	if err := c.guard(ctx, func() error { return c.command(code, payload) }); err != nil {
		c.fail()
		return fmt.Errorf("request the binlog: %w", err)
	}
	d := &dumpState{ctx: ctx, stop: context.AfterFunc(ctx, c.fail)}
	if r.Heartbeat > 0 {
		d.silence = 3*r.Heartbeat + 10*time.Second
	}
	c.dump.Store(d)
	return nil
}

// leaveDump lets the context of the dump forget the connection.
func (c *Conn) leaveDump() {
	if d := c.dump.Load(); d != nil {
		d.stop()
	}
}

// dumpSettings are what a server wants to know of a replica before the dump.
// MySQL calls them source_ since 8.0.26 and still reads the old names.
func (c *Conn) dumpSettings(r DumpRequest) []string {
	set := []string{"SET @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'"}
	if r.Heartbeat > 0 {
		set = append(set, fmt.Sprintf("SET @master_heartbeat_period = %d, @source_heartbeat_period = %d", r.Heartbeat.Nanoseconds(), r.Heartbeat.Nanoseconds()))
	}
	if c.flavor == MariaDB {
		// 4 is MARIA_SLAVE_CAPABILITY_GTID: without it events are rewritten for old replicas.
		set = append(set, "SET @mariadb_slave_capability = 4")
		if r.ByGTID {
			strict := 0
			if r.Strict {
				strict = 1
			}
			set = append(set, fmt.Sprintf("SET @slave_connect_state = %s, @slave_gtid_strict_mode = %d, @slave_gtid_ignore_duplicates = 0", Literal(r.GTIDSet), strict))
		}
		return set
	}
	if r.UUID != "" {
		set = append(set, fmt.Sprintf("SET @slave_uuid = %s, @replica_uuid = %[1]s", Literal(r.UUID)))
	}
	return set
}

// listsReplicas says that the server's list of replicas may be touched. MySQL 8.0
// keeps a pointer to the session in it that outlives a session which ends without
// a dump; whoever asks for the list afterwards takes the server down.
func (c *Conn) listsReplicas() bool { return c.flavor == MariaDB || c.version.AtLeast(8, 4, 0) }

// Replicas asks which programs read the server's binlog: columns Server_Id, Host
// and, for MySQL, Replica_UUID. Programs that do not register are not in it; nil
// where asking is not safe (MySQL 8.0).
func (c *Conn) Replicas(ctx context.Context) (*Result, error) {
	switch {
	case !c.listsReplicas():
		return nil, nil
	case c.flavor == MariaDB:
		return c.Query(ctx, "SHOW SLAVE HOSTS")
	}
	return c.Query(ctx, "SHOW REPLICAS")
}

// register puts us into SHOW REPLICAS, as host freshet, as long as the connection lasts.
func (c *Conn) register(ctx context.Context, serverID uint32) error {
	p := binary.LittleEndian.AppendUint32(nil, serverID)
	p = append(append(p, 7), "freshet"...)
	p = append(p, make([]byte, 1+1+2+4+4)...) // user, password, port, rank, the source's id
	return c.run(ctx, "COM_REGISTER_SLAVE", func() error {
		if err := c.command(comRegisterSlave, p); err != nil {
			return err
		}
		answer, err := c.in.read()
		switch {
		case err != nil:
			return err
		case len(answer) > 0 && answer[0] == 0xff:
			c.idle.Store(true)
			return serverError(answer)
		case len(answer) == 0 || answer[0] != 0:
			return malformed("no answer to COM_REGISTER_SLAVE")
		}
		c.idle.Store(true)
		return nil
	})
}

// dumpCommand returns the command and its payload.
func (c *Conn) dumpCommand(r DumpRequest) ([]byte, byte, error) {
	const (
		nonBlock     = 0x01
		heartbeatV2  = 0x02 // MySQL 8.0.26: heartbeats tell places beyond 4 GB
		sendAnnotate = 0x02 // MariaDB
	)
	var flags uint16
	if r.EndAtEOF {
		flags = nonBlock
	}
	switch {
	case c.flavor == MySQL:
		flags |= heartbeatV2
	case r.Statements:
		flags |= sendAnnotate
	}
	if c.flavor == MariaDB || !r.ByGTID {
		file, pos := r.File, r.Position
		if r.ByGTID {
			file, pos = "", 4
		}
		if pos > 1<<32-1 {
			return nil, 0, fmt.Errorf("%s:%d: a dump can't begin behind the first 4 GB of a file without GTIDs", file, pos)
		}
		p := binary.LittleEndian.AppendUint32(nil, uint32(pos))
		p = binary.LittleEndian.AppendUint16(p, flags)
		p = binary.LittleEndian.AppendUint32(p, r.ServerID)
		return append(p, file...), comBinlogDump, nil
	}
	set, err := mysql.ParseMysqlGTIDSet(r.GTIDSet)
	if err != nil {
		return nil, 0, fmt.Errorf("GTID set %q: %w", r.GTIDSet, err)
	}
	const throughGTID = 0x04
	data := set.Encode()
	p := binary.LittleEndian.AppendUint16(nil, flags|throughGTID)
	p = binary.LittleEndian.AppendUint32(p, r.ServerID)
	p = binary.LittleEndian.AppendUint32(p, 0) // no file name: the server finds it by the set
	p = binary.LittleEndian.AppendUint64(p, 4)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(data)))
	return append(p, data...), comBinlogDumpGTID, nil
}

// ErrSilent is wrapped when the server sent nothing for three heartbeats and ten seconds.
var ErrSilent = errors.New("no heartbeat of the server")

// ReadRaw reads bytes of the dump as they come, into p. Errors are final.
func (c *Conn) ReadRaw(p []byte) (int, error) {
	if ahead := c.in.buffered(); len(ahead) > 0 {
		n := copy(p, ahead)
		c.in.r += n
		return n, nil
	}
	d := c.dump.Load()
	if d == nil || c.closed.Load() {
		return 0, c.dumpError(ErrClosed)
	}
	if d.silence > 0 {
		// A deadline costs a little; a second more or less does not count.
		if now := time.Now(); now.After(d.next) {
			d.next = now.Add(time.Second)
			_ = c.raw.SetReadDeadline(now.Add(d.silence + time.Second))
		}
	}
	n, err := c.net.Read(p)
	if err != nil {
		return n, c.dumpError(err)
	}
	return n, nil
}

func (c *Conn) dumpError(err error) error {
	defer c.fail()
	d := c.dump.Load()
	switch {
	case d != nil && d.ctx.Err() != nil:
		return context.Cause(d.ctx)
	case d != nil && errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w for %s", ErrSilent, d.silence)
	}
	return fmt.Errorf("read the binlog: %w", err)
}

// ServerError decodes the ERR packet that ends a dump: payload begins with 0xff.
// The error wraps *mysql.MyError.
func ServerError(payload []byte) error {
	return fmt.Errorf("read the binlog: %w", serverError(payload))
}

// ReadPacket returns the next packet of the dump without its leading byte: an
// event, valid until the next call. It is for a few events; io.EOF is the end that
// EndAtEOF asks for. Other errors are final.
func (c *Conn) ReadPacket() ([]byte, error) {
	if c.dump.Load() == nil || c.closed.Load() {
		return nil, c.dumpError(ErrClosed)
	}
	p, err := c.in.read()
	switch {
	case err != nil:
		return nil, c.dumpError(err)
	case len(p) == 0:
		return nil, c.dumpError(malformed("an empty packet"))
	case p[0] == 0xff:
		return nil, c.dumpError(serverError(p))
	case p[0] == 0:
		return p[1:], nil
	case isEOF(p):
		c.fail()
		return nil, io.EOF
	}
	return nil, c.dumpError(malformed("packet 0x%x in the binlog", p[0]))
}
