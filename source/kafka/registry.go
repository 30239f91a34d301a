package kafka

import (
	"errors"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
)

// registryTimeout bounds one request to the schema registry; franz-go tries again by itself.
const registryTimeout = 30 * time.Second

// registry returns the client of the schema registry.
func (r *optionReader) registry() (*sr.Client, error) {
	urls := r.list(optRegistry, ",")
	if len(urls) == 0 {
		return nil, errors.New("Avro needs a schema registry")
	}
	opts := []sr.ClientOpt{sr.URLs(urls...), sr.HTTPClient(&http.Client{Timeout: registryTimeout}), sr.UserAgent("freshet")}
	if user := r.text("schema-registry.username"); user != "" {
		opts = append(opts, sr.BasicAuth(user, r.text("schema-registry.password")))
	}
	return sr.NewClient(opts...)
}
