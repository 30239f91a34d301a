package postgres

import "syscall"

// lowatSupported: Linux is where SO_RCVLOWAT delays the readiness that epoll reports.
const lowatSupported = true

func setLowat(raw syscall.RawConn, bytes int) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes)
	})
	if err != nil {
		return err
	}
	return failed
}
