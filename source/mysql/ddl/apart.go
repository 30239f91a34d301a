package ddl

import (
	"strings"

	"github.com/freshet-cdc/freshet/source/mysql/value"
)

// takeApart takes a column type apart, as far as conversions depend on it.
func takeApart(columnType string) apart {
	name, length := splitType(columnType)
	a := apart{name: name, length: length, scale: -1, unsigned: strings.Contains(columnType, " unsigned")}
	if isList(columnType) {
		if c, err := value.Column(value.Definition{ColumnType: columnType}, value.Options{}); err == nil {
			a.labels = c.Source.Enum
		}
		a.unsigned = false
		return a
	}
	if _, rest, ok := strings.Cut(columnType, ","); ok {
		a.scale = 0
		for _, c := range []byte(rest) {
			if c < '0' || c > '9' {
				break
			}
			a.scale = a.scale*10 + int(c-'0')
		}
	}
	return a
}
