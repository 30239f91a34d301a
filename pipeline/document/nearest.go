package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns the valid key that key most likely stands for, and how far
// away it is in edits. A key that is a part of a valid one, between dots or
// hyphens, counts as near: interval stands for execution.checkpointing.interval.
func nearest(key string, valid []string) (string, int) {
	best, distance := "", 1<<30
	for _, v := range valid {
		d := levenshtein.ComputeDistance(strings.ToLower(key), strings.ToLower(v))
		if isPart(strings.ToLower(key), v) {
			d = min(d, 2)
		}
		if d < distance {
			best, distance = v, d
		}
	}
	return best, distance
}

func isPart(key, valid string) bool {
	if len(key) < 3 {
		return false
	}
	return strings.HasSuffix(valid, "."+key) || strings.HasPrefix(valid, key+".") || strings.HasPrefix(valid, key) && len(key) >= 4
}

// didYouMean returns the hint for an unknown key.
func didYouMean(key string, valid []string) string {
	best, distance := nearest(key, valid)
	switch {
	case best == "":
		return ""
	case distance <= max(2, len(key)/3):
		return fmt.Sprintf("did you mean %q?", best)
	case len(valid) <= 8:
		sorted := slices.Clone(valid)
		slices.Sort(sorted)
		return "valid are " + strings.Join(sorted, ", ")
	}
	return fmt.Sprintf("the nearest valid key is %q", best)
}
