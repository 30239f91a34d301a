package pipeline

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// forgetProgram takes the pages of the program's own code and constants out of
// the process: the kernel maps a large program in pieces of megabytes, so nearly
// all of it counts as resident though little of it runs. What is needed again is
// mapped again from the page cache, where it stays.
func forgetProgram() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, m := range cleanMappings(maps, exe) {
		// Only advice: where the kernel does not take it, the pages stay.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// cleanMappings returns the mappings of a file that can't be written and of which
// no page differs from the file, as /proc/PID/smaps lists them. Dropping another
// one would lose what is in it.
func cleanMappings(smaps io.Reader, file string) []mapping {
	var out []mapping
	var current mapping
	var ours, clean bool
	flush := func() {
		if ours && clean {
			out = append(out, current)
		}
		ours = false
	}
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if !strings.HasSuffix(fields[0], ":") { // from-to permissions offset device inode path
			flush()
			from, to, ok := parseRange(fields[0])
			ours = ok && len(fields) >= 6 && fields[len(fields)-1] == file && (fields[1] == "r-xp" || fields[1] == "r--p")
			current, clean = mapping{from, to}, true
			continue
		}
		switch fields[0] {
		case "Anonymous:", "Swap:": // a page that was written to is no longer the file's
			clean = clean && fields[1] == "0"
		}
	}
	flush()
	return out
}

// parseRange reads two hexadecimal addresses with a hyphen between them.
func parseRange(text string) (from, to uintptr, ok bool) {
	a, b, ok := strings.Cut(text, "-")
	low, err := strconv.ParseUint(a, 16, 64)
	high, err2 := strconv.ParseUint(b, 16, 64)
	return uintptr(low), uintptr(high), ok && err == nil && err2 == nil && low < high
}
