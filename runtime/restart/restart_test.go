package restart

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

func TestBackoff(t *testing.T) {
	start := time.Unix(0, 0)
	var b *Backoff
	datadriven.RunTest(t, "testdata/backoff", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "new":
			p := Policy{Jitter: -1}
			if d.HasArg("jitter") {
				p.Jitter = 0
			}
			if d.HasArg("attempts") {
				d.ScanArgs(t, "attempts", &p.Attempts)
			}
			b = NewBackoff(p)
			return ""
		case "failed":
			var at, percent int
			d.ScanArgs(t, "at", &at)
			if d.HasArg("chance") {
				d.ScanArgs(t, "chance", &percent)
			}
			delay, ok := b.Failed(start.Add(time.Duration(at)*time.Second), float64(percent)/100)
			if !ok {
				return "give up\n"
			}
			return fmt.Sprintf("wait %v\n", delay.Round(time.Millisecond))
		}
		d.Fatalf(t, "unknown verb %s", d.Cmd)
		return ""
	})
}
