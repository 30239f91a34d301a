// Package document reads a pipeline document: Flink CDC's YAML (source, sink,
// route, pipeline), strictly.
//
// Whatever is wrong is reported together, each problem with its place, its cause
// and, where a key is unknown, the nearest valid one:
//
//	shop.yaml:4:3: unknown option "hostnme" of source postgres; did you mean "hostname"?
//
// Values may hold ${NAME}, ${NAME:-default} and ${file:/path}; $${ stands for a
// literal ${. A value that is secret is never printed: not in problems, not by
// [Document.String], and [Document.Redact] takes it out of any text.
//
//	doc, err := document.Parse("shop.yaml", data, document.Kinds{
//		Sources: map[string][]document.Option{"postgres": specs},
//		Sinks:   map[string][]document.Option{"iceberg": more},
//	}, document.Environment{})
//	if err != nil {
//		return err // document.Problems
//	}
//	fmt.Println(doc.Source.Type, doc.Pipeline.CheckpointInterval)
package document
