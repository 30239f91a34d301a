package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-cdc/freshet/e2e/servers"
)

// ticksPerSecond is Linux's USER_HZ, the same on every architecture that Go runs on.
const ticksPerSecond = 100

// The places of user and system time in /proc/PID/stat, counted behind the command:
// utime and stime, cutime and cstime.
const (
	itself        = 11
	endedChildren = 13
)

// processCPU returns the CPU time that the server's process, or its ended children, used.
func processCPU(ctx context.Context, server *servers.Server, place int) time.Duration {
	pid, err := server.PID(ctx)
	if err != nil {
		return 0
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The fields follow the command in parentheses.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var ticks int64
	for _, f := range fields[place : place+2] {
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}
