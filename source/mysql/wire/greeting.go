package wire

import (
	"bytes"
	"encoding/binary"
	"runtime"
)

// Capability flags, with the protocol's names.
// https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html
const (
	clientLongPassword     = 1 << 0 // MariaDB clears it in its greeting: CLIENT_MYSQL
	clientLongFlag         = 1 << 2
	clientProtocol41       = 1 << 9
	clientSSL              = 1 << 11
	clientTransactions     = 1 << 13
	clientSecureConnection = 1 << 15
	clientPluginAuth       = 1 << 19
	clientConnectAttrs     = 1 << 20
	clientPluginAuthLenenc = 1 << 21
)

// greeting is the server's first packet (Protocol::HandshakeV10).
type greeting struct {
	version      string
	connection   uint32
	capabilities uint32
	plugin       string
	seed         []byte
}

// parseGreeting reads it. An ERR packet comes here when the server takes no more clients.
func parseGreeting(p []byte) (greeting, error) {
	var g greeting
	if len(p) == 0 {
		return g, malformed("an empty greeting")
	}
	if p[0] == 0xff {
		return g, serverError(p)
	}
	if p[0] != 10 {
		return g, malformed("protocol version %d: is this the port of the X protocol, or of something else?", p[0])
	}
	version, p, ok := bytes.Cut(p[1:], []byte{0})
	if !ok || len(p) < 4+8+1+2 {
		return g, malformed("a greeting that ends early")
	}
	g.version = string(version)
	g.connection = binary.LittleEndian.Uint32(p)
	g.seed = append(g.seed, p[4:12]...)
	g.capabilities = uint32(binary.LittleEndian.Uint16(p[13:]))
	if p = p[15:]; len(p) < 1+2+2+1+10 {
		return g, malformed("a server older than MySQL 4.1")
	}
	g.capabilities |= uint32(binary.LittleEndian.Uint16(p[3:])) << 16
	seedLen := int(p[5])
	if p = p[16:]; g.capabilities&(clientProtocol41|clientSecureConnection) != clientProtocol41|clientSecureConnection {
		return g, malformed("a server without the protocol of MySQL 4.1")
	}
	rest := max(13, seedLen-8)
	if len(p) < rest {
		return g, malformed("a greeting that ends early")
	}
	g.seed = append(g.seed, bytes.TrimSuffix(p[:rest], []byte{0})...)
	g.plugin = pluginNative
	if g.capabilities&clientPluginAuth != 0 {
		name, _, _ := bytes.Cut(p[rest:], []byte{0})
		g.plugin = string(name)
	}
	return g, nil
}

// collation is the number of utf8mb4_general_ci, which every server knows.
const collation = 45

// wanted are the capabilities that the client uses where the server has them.
// Without CLIENT_DEPRECATE_EOF results end alike on all servers.
const wanted = clientLongPassword | clientLongFlag | clientProtocol41 | clientTransactions | clientSecureConnection |
	clientPluginAuth | clientConnectAttrs | clientPluginAuthLenenc

func (g greeting) clientFlags(encrypted bool) uint32 {
	flags := g.capabilities&wanted | clientLongPassword
	if encrypted {
		flags |= clientSSL
	}
	return flags
}

// sslRequest asks for TLS: the head of the answer alone.
func (g greeting) sslRequest() []byte { return g.answerHead(true) }

func (g greeting) answerHead(encrypted bool) []byte {
	out := binary.LittleEndian.AppendUint32(nil, g.clientFlags(encrypted))
	out = binary.LittleEndian.AppendUint32(out, maxPayload)
	out = append(out, collation)
	return append(out, make([]byte, 23)...)
}

// answer is Protocol::HandshakeResponse41.
func (g greeting) answer(user, plugin string, response []byte, encrypted bool) []byte {
	out := g.answerHead(encrypted)
	out = append(append(out, user...), 0)
	flags := g.clientFlags(encrypted)
	if flags&clientPluginAuthLenenc != 0 {
		out = appendLenenc(out, response)
	} else {
		out = append(append(out, byte(len(response))), response...)
	}
	if flags&clientPluginAuth != 0 {
		out = append(append(out, plugin...), 0)
	}
	if flags&clientConnectAttrs != 0 {
		out = appendLenenc(out, attributes())
	}
	return out
}

// attributes tell the server's administrator who is connected.
func attributes() []byte {
	var out []byte
	for _, kv := range [][2]string{{"program_name", "freshet"}, {"_client_name", "freshet"}, {"_os", runtime.GOOS}, {"_platform", runtime.GOARCH}} {
		out = appendLenenc(appendLenenc(out, []byte(kv[0])), []byte(kv[1]))
	}
	return out
}
