//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopSignal asks for PostgreSQL's fast shutdown; SIGTERM would wait for the clients.
var stopSignal os.Signal = syscall.SIGINT

// account returns the user that the server runs as when we are root.
func account() (uid, gid int, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	if u, err := user.Lookup("nobody"); err == nil {
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return uid, gid, true
		}
	}
	return 65534, 65534, true
}

// unprivileged makes cmd run as another user when we are root, and in a group of
// its own, so that an interrupt on the terminal does not reach it.
func unprivileged(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if uid, gid, ok := account(); ok {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}
		cmd.Env = append(os.Environ(), "HOME=/")
	}
}

// handOver gives the data folder to the server's user and lets that user pass
// through the folders above it.
func (s *Server) handOver() error {
	uid, gid, ok := account()
	if !ok {
		return nil
	}
	if err := os.Chown(s.data(), uid, gid); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	for dir := s.opts.Dir; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("pgtest: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			if dir != s.opts.Dir && !strings.HasPrefix(dir, os.TempDir()) {
				return fmt.Errorf("pgtest: the server runs as user %d and can't enter %s; choose another folder or run as an ordinary user", uid, dir)
			}
			if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
				return fmt.Errorf("pgtest: %w", err)
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// Kill9 kills the postmaster and all of its children at once, as a crash would.
// The folder stays; Restart recovers it.
func (s *Server) Kill9() {
	if !s.Running() {
		return
	}
	pid := s.cmd.Process.Pid
	children := childrenOf(pid) // each has a session of its own: a group kill misses them
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for _, c := range children {
		_ = syscall.Kill(c, syscall.SIGKILL)
	}
	<-s.done
	// The shared memory is theirs until the last one is gone, and a start before
	// that is refused. A child that died stays as a zombie only where nobody reaps it.
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if !slices.ContainsFunc(children, alive) {
			return
		}
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, found := bytes.Cut(stat, []byte(") "))
	return err != nil || !found || after[0] != 'Z'
}

// childrenOf lists the children of a process, by /proc or else by ps.
func childrenOf(pid int) []int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		b, _ = exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	}
	var out []int
	for _, f := range bytes.Fields(b) {
		if n, err := strconv.Atoi(string(f)); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// ready sends a startup packet and looks at the answer: anything but an error
// 57P03 (starting up) means that the server works.
func (s *Server) ready(ctx context.Context) bool {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.opts.Port)))
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	body := []byte("\x00\x03\x00\x00user\x00" + s.opts.User + "\x00database\x00postgres\x00\x00") // protocol 3.0
	packet := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	if _, err := conn.Write(append(packet, body...)); err != nil {
		return false
	}
	answer := make([]byte, 512)
	n, err := io.ReadAtLeast(conn, answer, 5)
	return err == nil && !(answer[0] == 'E' && bytes.Contains(answer[:n], []byte("57P03")))
}
