package pipeline

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// CrashVariable is the environment variable that makes a process kill itself.
const CrashVariable = "FRESHET_CRASH_AT"

// CrashPoint returns a function for Options.Reached that kills this process with
// SIGKILL when a point is reached for the n-th time: value is "point:n", or
// "point" for the first time. An empty value gives nil.
func CrashPoint(value string) (func(point string), error) {
	if value == "" {
		return nil, nil
	}
	name, left := value, 1
	if i := strings.LastIndexByte(value, ':'); i >= 0 {
		n, err := strconv.Atoi(value[i+1:])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s: want point:n, but it is %q", CrashVariable, value)
		}
		name, left = value[:i], n
	}
	var mu sync.Mutex
	return func(point string) {
		if point != name {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if left--; left > 0 {
			return
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // nothing more happens at this point, until the signal is here
	}, nil
}
