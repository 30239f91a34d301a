// Package definition reads the tables that a user defines in the option schema, in the
// manner of Flink SQL:
//
//	shop.orders (id BIGINT NOT NULL, price DECIMAL(10, 2), tags ARRAY<STRING>, PRIMARY KEY (id));
//	(id INT, note STRING)
//
// Definitions are separated by semicolons; one without a name is for all other tables.
package definition
