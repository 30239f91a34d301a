// Package topic says which topic a table goes to, and which partition a message.
//
//	n, err := topic.New(topic.Options{Prefix: "shop"})
//	name := n.Of(schema.TableID{Schema: "public", Table: "orders"}) // shop.public.orders
//	err = n.Check(tables)                                           // two tables, one topic?
//
//	p, err := topic.NewPartitioner(topic.ByKey)
//	partition := p.Partition(name, key, 12) // as the Java client's
//
// Names are built and sanitised as Debezium does; the options that name topics
// otherwise are Flink CDC's.
package topic
