package snapshot

import (
	"math/big"
	"strings"
)

// Flink CDC's bounds of an even distribution: chunk-key.even-distribution.factor.upper-bound
// and .lower-bound of its MySQL source.
const (
	maxFactor = 1000
	minFactor = 0.05
)

// Even splits a table by the whole part of its first key column, without reading.
// Numbers are decimal text, since DECIMAL has up to 65 digits.
type Even struct {
	// Next is the boundary behind what was handed out; empty at the beginning.
	Next string `json:"next,omitempty"`
	// First is the whole part of the first value in the order of the key.
	First string `json:"first"`
	// Last is the last value, where the last range ends.
	Last string `json:"last"`
	// Step is how far boundaries of chunks of full size lie apart; it is negative
	// where the index descends.
	Step string `json:"step"`
}

// newEven returns the even split of a column whose values go from first to last in a
// table of so many rows, or nil where they are too dense or too sparse to be spread evenly.
func newEven(first, last string, rows int64, size int) *Even {
	from, to := whole(first), whole(last)
	if from == nil || to == nil || rows <= 0 {
		return nil
	}
	step := new(big.Int).Sub(to, from)
	sign := int64(1)
	if step.Sign() < 0 {
		sign = -1
	}
	step.Add(step, big.NewInt(sign))
	factor, _ := new(big.Rat).SetFrac(new(big.Int).Abs(step), big.NewInt(rows)).Float64()
	if factor < minFactor || factor > maxFactor {
		return nil
	}
	step.Mul(step, big.NewInt(int64(size)))
	step.Quo(step, big.NewInt(rows))
	if step.Sign() == 0 {
		step.SetInt64(sign)
	}
	return &Even{First: from.String(), Last: last, Step: step.String()}
}

// whole returns the largest whole number that is no greater than a decimal number,
// nil for a text that is none.
func whole(text string) *big.Int {
	digits, fraction, _ := strings.Cut(text, ".")
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || !only(digits, "-0123456789") || !only(fraction, "0123456789") {
		return nil
	}
	if strings.HasPrefix(digits, "-") && strings.Trim(fraction, "0") != "" {
		n.Sub(n, big.NewInt(1))
	}
	return n
}

// next returns the next range, rows/size of a step wide, and whether more follow.
// The first one has no lower bound, the last one ends with Last.
func (e *Even) next(rows, size int) (r Range, more bool) {
	from, step, last := whole(e.First), whole(e.Step), whole(e.Last)
	if e.Next != "" {
		r.From = Bound{e.Next}
		from = whole(e.Next)
	}
	if from == nil || step == nil || last == nil || step.Sign() == 0 {
		r.To = Bound{e.Last} // no state that we wrote: the rest in one range, which is cut as it is read
		return r, false
	}
	sign := int64(step.Sign())
	step.Mul(step, big.NewInt(int64(rows)))
	step.Quo(step, big.NewInt(int64(max(size, 1))))
	if step.Sign() == 0 {
		step.SetInt64(sign)
	}
	to := from.Add(from, step)
	if to.Cmp(last)*int(sign) >= 0 {
		r.To = Bound{e.Last}
		return r, false
	}
	e.Next = to.String()
	r.To = Bound{e.Next}
	return r, true
}
