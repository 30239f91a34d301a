package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/freshet-cdc/freshet/runtime/checkpoint/filestore"
	"github.com/freshet-cdc/freshet/runtime/state/pebble"
)

const crashTotal = 20_000

// TestKillsOnRealStores runs a job in a process of its own, on the checkpoint
// folder and Pebble, and kills it at named points and in between until it comes
// to its end.
func TestKillsOnRealStores(t *testing.T) {
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(7, 7))
	kills := 0
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "STREAM_CRASH_DIR="+dir, "TMPDIR="+dir, "STREAM_CRASH_P="+strconv.Itoa(1+kills%3))
		if kills%2 == 0 { // at the nth point that the runtime passes
			cmd.Env = append(cmd.Env, "STREAM_CRASH_AT="+strconv.Itoa(1+rnd.IntN(16)))
		} else { // at any moment
			cmd.Env = append(cmd.Env, "STREAM_CRASH_AFTER="+strconv.Itoa(5+rnd.IntN(60)))
		}
		if kills >= 20 {
			cmd.Env = append(cmd.Env, "STREAM_CRASH_AT=", "STREAM_CRASH_AFTER=")
		}
		out, err := cmd.CombinedOutput()
		if err == nil {
			break
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("after %d kills: %v\n%s", kills, err, out)
		}
		kills++
	}
	if kills < 5 {
		t.Errorf("only %d kills", kills)
	}
	result := &target{}
	files, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".tmp") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "out", f.Name()))
		var tx transaction
		if err := errors.Join(err, json.Unmarshal(data, &tx)); err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		result.rows = append(result.rows, tx.Rows...)
	}
	result.verify(t, crashTotal)
	t.Logf("%d kills, %d transactions", kills, len(files))
}

// crashChild is the killed process.
func crashChild(dir string) {
	number := func(name string) int { n, _ := strconv.Atoi(os.Getenv(name)); return n }
	if ms := number("STREAM_CRASH_AFTER"); ms > 0 {
		time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	}
	left := atomic.Int64{}
	left.Store(int64(number("STREAM_CRASH_AT")))
	j := &job{
		parallelism: number("STREAM_CRASH_P"), total: crashTotal, pace: time.Millisecond, interval: 3 * time.Millisecond,
		backend: pebble.NewBackend(pebble.Options{}),
		reached: func(string) {
			if left.Add(-1) == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
		target: &target{done: map[string]bool{}, write: func(tx transaction) error { return writeOnce(filepath.Join(dir, "out"), tx) }},
	}
	store, err := filestore.New(filestore.Options{Dir: filepath.Join(dir, "checkpoints"), Pipeline: "crash"})
	if err == nil {
		j.checkpoints = store
		err = j.env().Run(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writeOnce stores a transaction under its name unless it is there already.
func writeOnce(dir string, tx transaction) error {
	name := filepath.Join(dir, strings.ReplaceAll(tx.Name, "/", "-"))
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := json.Marshal(tx)
	return errors.Join(err, os.MkdirAll(dir, 0o777), os.WriteFile(name+".tmp", data, 0o666), os.Rename(name+".tmp", name))
}
