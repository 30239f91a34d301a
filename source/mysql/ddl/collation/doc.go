// Package collation knows the character sets and collations of MySQL and MariaDB by
// number and by name.
//
//	collation.Name(255, false)          // utf8mb4_0900_ai_ci
//	collation.Charset("latin1_bin")     // latin1
//	collation.Default("utf8mb4", false) // utf8mb4_0900_ai_ci
package collation
