// Package examples holds pipelines to run. They are plain files; the package
// exists so that the binary can carry the one that `freshet demo` starts.
package examples

import _ "embed"

// Shop is shop.yaml: PostgreSQL into Iceberg tables on the local disk.
//
//go:embed shop.yaml
var Shop string
