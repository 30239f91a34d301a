package pipeline

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCleanMappings: a mapping that can be written, of another file, or with a page
// that differs from the file, is left alone.
func TestCleanMappings(t *testing.T) {
	const clean = "Rss: 4 kB\nShared_Dirty: 0 kB\nPrivate_Dirty: 0 kB\nAnonymous: 0 kB\nSwap: 0 kB\n"
	smaps := "00400000-00500000 r-xp 00000000 fe:00 1  /bin/f\n" + clean +
		"00500000-00600000 r--p 00100000 fe:00 1  /bin/f\n" + strings.Replace(clean, "Swap: 0", "Swap: 4", 1) +
		"00600000-00700000 r--p 00200000 fe:00 1  /bin/f\n" + strings.Replace(clean, "Anonymous: 0", "Anonymous: 8", 1) +
		"00700000-00800000 rw-p 00300000 fe:00 1  /bin/f\n" + clean +
		"7f0000000000-7f0000001000 r-xp 00000000 fe:00 2  /lib/g\n" + clean +
		"7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n" + clean +
		"00800000-00900000 r--p 00400000 fe:00 1  /bin/f\n" + clean
	got := cleanMappings(strings.NewReader(smaps), "/bin/f")
	if want := []mapping{{0x400000, 0x500000}, {0x800000, 0x900000}}; !slices.Equal(got, want) {
		t.Errorf("%x, wanted %x", got, want)
	}
}

// TestForgetProgram: much of the program goes, and it runs on.
func TestForgetProgram(t *testing.T) {
	before := residentFile(t)
	forgetProgram()
	after := residentFile(t)
	t.Logf("%d KiB of files before, %d after", before, after)
	if after > before*3/4 {
		t.Errorf("%d KiB of files are resident, before there were %d", after, before)
	}
}

func residentFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	_, rest, ok := strings.Cut(string(status), "RssFile:")
	if !ok {
		t.Skip("the kernel does not tell the resident pages of files")
	}
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
