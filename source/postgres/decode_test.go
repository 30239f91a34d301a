package postgres

import "github.com/freshet-cdc/freshet/source"

var needsAll = source.Needs{KeylessUpdates: true, ResolvesUnchanged: true, Reset: true}
