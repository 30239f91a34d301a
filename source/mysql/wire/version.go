package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a server's version, for instance {8, 0, 43} or {11, 8, 3}.
type Version struct{ Major, Minor, Patch int }

// AtLeast says whether v is major.minor.patch or newer.
func (v Version) AtLeast(major, minor, patch int) bool {
	if v.Major != major {
		return v.Major > major
	}
	if v.Minor != minor {
		return v.Minor > minor
	}
	return v.Patch >= patch
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// parseVersion reads the version of the greeting, for instance 9.7.4-2 or
// 5.5.5-10.11.18-MariaDB-0+deb12u1, whose first part is a lie for old replicas.
func parseVersion(s string) (Flavor, Version) {
	flavor := MySQL
	if strings.Contains(strings.ToLower(s), "mariadb") {
		flavor = MariaDB
		s = strings.TrimPrefix(s, "5.5.5-")
	}
	var v Version
	for i, part := range []*int{&v.Major, &v.Minor, &v.Patch} {
		end := 0
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(s[:end])
		if err != nil {
			break
		}
		*part = n
		s = s[end:]
		if i == 2 || !strings.HasPrefix(s, ".") {
			break
		}
		s = s[1:]
	}
	return flavor, v
}
