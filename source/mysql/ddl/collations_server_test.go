package ddl

import (
	"fmt"
	"testing"

	"github.com/freshet-cdc/freshet/source/mysql/ddl/collation"
	"github.com/freshet-cdc/freshet/source/mysql/mysqltest"
)

// TestServerCollations compares numbers and names with what servers say.
func TestServerCollations(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		query := "SELECT id, collation_name, character_set_name FROM information_schema.collations"
		if s.MariaDB {
			query = "SELECT id, full_collation_name, character_set_name FROM information_schema.collation_character_set_applicability"
		}
		session := s.Connect(t)
		for _, r := range session.Query(query) {
			var id uint16
			if _, err := fmt.Sscan(r[0], &id); err != nil {
				t.Fatal(err)
			}
			want := collation.Canonical(r[1])
			if got := collation.Name(id, s.MariaDB); got != want {
				t.Errorf("collation %d is %s at the server, %q here", id, want, got)
			}
			if got := collation.Charset(want); got != collation.Canonical(r[2]) {
				t.Errorf("%s is of the character set %s at the server, of %q here", want, r[2], got)
			}
		}
		for _, r := range session.Query("SELECT character_set_name, maxlen FROM information_schema.character_sets") {
			if got := fmt.Sprint(collation.MaxLen(r[0])); !collation.Known(r[0]) || got != r[1] {
				t.Errorf("the character set %s has %s bytes a character at the server, %s here", r[0], r[1], got)
			}
		}
	})
}
