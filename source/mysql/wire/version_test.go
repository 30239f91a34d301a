package wire

import "testing"

func TestParseVersion(t *testing.T) {
	for _, c := range []struct {
		text   string
		flavor Flavor
		want   Version
	}{
		{"9.7.4-2", MySQL, Version{9, 7, 4}},
		{"8.0.36-28.1", MySQL, Version{8, 0, 36}},
		{"8.0.mysql_aurora.3.05.2", MySQL, Version{8, 0, 0}},
		{"5.5.5-10.11.18-MariaDB-0+deb12u1-log", MariaDB, Version{10, 11, 18}},
		{"11.8.9-MariaDB-0+deb13u1 from Debian-log", MariaDB, Version{11, 8, 9}},
		{"5.5.5-10.6.14-mariadb", MariaDB, Version{10, 6, 14}},
		{"5.5.5", MySQL, Version{5, 5, 5}},
		{"", MySQL, Version{}},
	} {
		flavor, got := parseVersion(c.text)
		if flavor != c.flavor || got != c.want {
			t.Errorf("%q: %s %s", c.text, flavor, got)
		}
	}
	if v := (Version{8, 0, 30}); !v.AtLeast(8, 0, 30) || !v.AtLeast(5, 7, 99) || v.AtLeast(8, 4, 0) || v.AtLeast(9, 0, 0) || v.AtLeast(8, 0, 31) {
		t.Error("AtLeast")
	}
}
