// Package registry keeps the schemas of messages in a schema registry that speaks
// Confluent's protocol, and gives them the numbers that stand in front of messages.
//
//	c, err := registry.New(registry.Options{URLs: []string{"https://registry:8081"}, Register: true})
//	id, err := c.ID(ctx, registry.TopicName.Subject("orders", "shop.orders.Value", false), registry.Schema{Text: schema})
//	message := append(registry.Header(id), datum...)
//
// A schema is asked for once; a registry that does not answer is asked again for a while.
package registry
