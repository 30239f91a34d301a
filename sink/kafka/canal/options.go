package canal

import (
	"time"

	"github.com/freshet-cdc/freshet/sink/kafka/plain"
)

// Options say which messages are written. The zero value of each is what Canal does,
// or the nearest to it.
type Options struct {
	// Zone is where a TIMESTAMP is printed; nil is UTC.
	Zone *time.Location
	// Labels writes the labels of an ENUM and a SET, not their numbers.
	Labels bool
	// OmitUnchanged leaves a column out where the server did not send its value, instead
	// of failing.
	OmitUnchanged bool
	// Key is how keys are written.
	Key plain.KeyOptions
}

// Origin is what a message says of a batch's rows beyond what a schema.Batch carries.
type Origin struct {
	// GTIDs has the name of each of the batch's transactions at its server, or is nil.
	GTIDs []string
}
