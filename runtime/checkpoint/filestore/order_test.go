package filestore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/freshet-cdc/freshet/runtime/checkpoint"
	"github.com/freshet-cdc/freshet/runtime/checkpoint/filestore"
)

// TestOrder pins the order in which files are made, synced, renamed and removed.
func TestOrder(t *testing.T) {
	env := &orderEnv{mem: vfs.NewMem()}
	datadriven.RunTest(t, "testdata/order", func(t *testing.T, d *datadriven.TestData) string {
		env.log.Reset()
		if err := env.run(t, d); err != nil {
			env.record("error: %v", err)
		}
		return env.log.String()
	})
}

// orderEnv runs the commands of a script on one file system in memory.
type orderEnv struct {
	mem     *vfs.MemFS
	log     strings.Builder
	session checkpoint.Session
}

// record writes a line of the log; what changes nothing is left out.
func (e *orderEnv) record(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	for _, prefix := range []string{"open: ", "open-dir: ", "close: "} {
		if strings.HasPrefix(line, prefix) {
			return
		}
	}
	e.log.WriteString(line + "\n")
}

func (e *orderEnv) run(t *testing.T, d *datadriven.TestData) (err error) {
	var id int64
	if d.HasArg("id") {
		d.ScanArgs(t, "id", &id)
	}
	switch d.Cmd {
	case "acquire":
		store := newStore(t, filestore.Options{Dir: "dir", Pipeline: "shop", Retained: 2, FS: vfs.WithLogging(e.mem, e.record)})
		e.session, err = store.Acquire(context.Background())
		return err
	case "close":
		return e.session.Close()
	case "put":
		var name string
		d.ScanArgs(t, "name", &name)
		return put(e.mem, e.session, id, name)
	case "publish":
		var names []string
		if d.HasArg("files") {
			var list string
			d.ScanArgs(t, "files", &list)
			names = strings.Split(list, "+")
		}
		oldest, err := e.session.Publish(context.Background(), metadata(id, names...))
		if err == nil {
			e.record("oldest %d", oldest)
		}
		return err
	case "abort":
		e.session.Abort(context.Background(), id)
		return nil
	}
	return fmt.Errorf("unknown command %s", d.Cmd)
}
