package storm

import (
	"fmt"
	"math/rand/v2"
)

// kind is a family of types: each holds the values of the ones before it.
type kind struct {
	types []string
	// value returns a literal that a column of types[step] holds.
	value func(rng *rand.Rand, step int) string
}

// kinds are the families of columns. Most can be widened.
var kinds = []kind{
	{[]string{"smallint", "mediumint", "int", "bigint"}, func(rng *rand.Rand, step int) string {
		half := int64(1) << [...]int{15, 23, 31, 61}[step]
		return fmt.Sprint(rng.Int64N(2*half) - half)
	}},
	{[]string{"varchar(20)", "varchar(60)", "varchar(400)", "text", "mediumtext"}, func(rng *rand.Rand, step int) string {
		text := "ü,'' \\\\ "
		for range rng.IntN([...]int{1, 6, 40, 200, 400}[step]) {
			text += fmt.Sprintf("%08x", rng.Uint32())
		}
		return "'" + text + "'"
	}},
	{[]string{"decimal(8,2)", "decimal(12,2)", "decimal(20,2)", "decimal(38,2)"}, func(rng *rand.Rand, step int) string {
		limit := [...]int64{1e8, 1e12, 1e18, 1e18}[step]
		return fmt.Sprintf("%d.%02d", (rng.Int64N(2*limit)-limit)/100, rng.IntN(100))
	}},
	{[]string{"float", "double"}, func(rng *rand.Rand, step int) string {
		if step == 0 {
			return fmt.Sprintf("%e", float32(rng.NormFloat64()))
		}
		return fmt.Sprintf("%.17e", rng.NormFloat64()*1e100)
	}},
	{[]string{"datetime", "datetime(3)", "datetime(6)"}, func(rng *rand.Rand, step int) string {
		return fmt.Sprintf("'%d-02-28 23:59:%02d.%06d'", 1000+rng.IntN(8000), rng.IntN(60), rng.IntN(1_000_000)/[...]int{1_000_000, 1000, 1}[step]*[...]int{1, 1000, 1}[step])
	}},
	{[]string{"enum('a', 'b')", "enum('a', 'b', 'c')", "enum('a', 'b', 'c', 'd, ü', 'e')"}, func(rng *rand.Rand, step int) string {
		return fmt.Sprint(1 + rng.IntN([...]int{2, 3, 5}[step]))
	}},
	{[]string{"set('x', 'y')", "set('x', 'y', 'z')"}, func(rng *rand.Rand, step int) string {
		return fmt.Sprint(rng.IntN([...]int{4, 8}[step]))
	}},
	{[]string{"varbinary(4)", "varbinary(300)", "blob"}, func(rng *rand.Rand, step int) string {
		return fmt.Sprintf("X'%0*x'", 2*[...]int{4, 200, 1000}[step], rng.Uint32())
	}},
	{[]string{"date"}, func(rng *rand.Rand, _ int) string { return fmt.Sprintf("'%d-12-31'", 1000+rng.IntN(8999)) }},
	{[]string{"timestamp(6)"}, func(rng *rand.Rand, _ int) string {
		return fmt.Sprintf("'2026-01-%02d 12:00:00.%06d'", 1+rng.IntN(28), rng.IntN(1_000_000))
	}},
	{[]string{"json"}, func(rng *rand.Rand, _ int) string {
		return fmt.Sprintf(`'{"n": %d, "l": ["ü", null, 1.5]}'`, rng.Int32())
	}},
	{[]string{"tinyint(1)"}, func(rng *rand.Rand, _ int) string { return fmt.Sprint(rng.IntN(2)) }},
	{[]string{"bigint unsigned"}, func(rng *rand.Rand, _ int) string { return fmt.Sprint(rng.Uint64()) }},
	{[]string{"bit(12)"}, func(rng *rand.Rand, _ int) string { return fmt.Sprint(rng.IntN(1 << 12)) }},
	{[]string{"year"}, func(rng *rand.Rand, _ int) string { return fmt.Sprint(1901 + rng.IntN(255)) }},
}

// column is a column of a table as it is now.
type column struct {
	name string
	kind int
	step int // of the kind's types
}

func (c column) typ() string { return kinds[c.kind].types[c.step] }

func (c column) widest() bool { return c.step == len(kinds[c.kind].types)-1 }

// literal returns a value, now and then NULL.
func (c column) literal(rng *rand.Rand) string {
	if rng.IntN(8) == 0 {
		return "NULL"
	}
	return kinds[c.kind].value(rng, c.step)
}
