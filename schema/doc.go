// Package schema says what a table is: identifiers, types, columns, schema
// changes; and [Batch], the rows of one table in columns.
//
// Every source produces, and every sink consumes, these types and nothing else;
// the package imports nothing of freshet.
//
//	id, _ := schema.ParseTableID("public.orders")
//	t := &schema.Table{
//		ID: id,
//		Columns: []schema.Column{
//			{Name: "id", Type: schema.BigInt()},
//			{Name: "note", Type: schema.Varchar(120), Nullable: true},
//		},
//		PrimaryKey: []string{"id"},
//	}
//	fmt.Println(t.ArrowSchema())
package schema
