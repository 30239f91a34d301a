//go:build !linux

package postgres

import "syscall"

const lowatSupported = false

func setLowat(syscall.RawConn, int) error { return nil }
