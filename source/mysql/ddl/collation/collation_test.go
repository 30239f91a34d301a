package collation

import "testing"

func TestName(t *testing.T) {
	for _, c := range []struct {
		id      uint16
		mariadb bool
		want    string
	}{
		{8, false, "latin1_swedish_ci"}, {33, true, "utf8mb3_general_ci"}, {63, false, "binary"}, {255, false, "utf8mb4_0900_ai_ci"}, {255, true, "utf8mb4_0900_ai_ci"},
		{245, false, "utf8mb4_croatian_ci"}, {245, true, "utf8mb4_croatian_mysql561_ci"}, {608, true, "utf8mb4_croatian_ci"},
		{1070, true, "utf8mb4_nopad_bin"}, {1270, true, "utf8mb4_unicode_520_nopad_ci"}, {2304, true, "utf8mb4_uca1400_ai_ci"},
		{2216, true, ""}, {2048 + 256 + 192 + 7, true, "utf8mb4_uca1400_croatian_nopad_as_cs"}, {65535, true, ""}, {0, false, ""},
	} {
		if got := Name(c.id, c.mariadb); got != c.want {
			t.Errorf("Name(%d, %v) = %q, want %q", c.id, c.mariadb, got, c.want)
		}
	}
}

func TestCharset(t *testing.T) {
	for collation, want := range map[string]string{
		"utf8_general_ci": "utf8mb3", "UTF8MB4_BIN": "utf8mb4", "binary": "binary", "uca1400_ai_ci": "", "nonsense": "", "ucs2_bin": "ucs2",
	} {
		if got := Charset(collation); got != want {
			t.Errorf("Charset(%q) = %q, want %q", collation, got, want)
		}
	}
	for charset, c := range charsets {
		if got := Charset(c.collation); got != charset {
			t.Errorf("the default collation %s of %s is one of %q", c.collation, charset, got)
		}
	}
}
