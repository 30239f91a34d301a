package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// timed runs a client program, whose output goes to nothing.
func timed(cmd *exec.Cmd) (time.Duration, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	cmd.Stdout = null
	start := time.Now()
	out, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	text := make([]byte, 4096)
	n, _ := out.Read(text)
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", cmd.Args[0], err, text[:n])
	}
	return time.Since(start), nil
}
