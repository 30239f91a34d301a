// Package match tells which tables a pattern means and where a table goes, by
// Flink CDC's rules.
//
// [Selectors] are the values of tables and tables.exclude: alternatives between
// commas, each of one to three parts between dots, each part a regular expression
// that must match the whole part in any case; \. and \, stand for a plain . and ,
// so that app.\.* means every table of app. A [Router] matches the whole name of
// a table, case and all.
//
// The expressions are Java's as far as Go's regexp knows them; look-around,
// back references, possessive quantifiers and class intersections are an error.
//
//	s, _ := match.ParseSelectors(`shop.public.\.*`)
//	s.Match(schema.TableID{Schema: "public", Table: "orders"}) // true
//	r, _ := match.NewRouter([]match.Rule{{Source: `public.(\.*)`, Sink: "lake.$1"}}, false)
//	r.Route(schema.TableID{Schema: "public", Table: "orders"}) // lake.orders
package match
