package iceberg

import (
	"math/rand/v2"
	"time"
)

const (
	// maxUnclear is how often a commit is tried whose failure was neither a lost race nor
	// a catalog that is away. The table is looked at each time first: the attempt
	// before may have taken place after all.
	maxUnclear = 3
	// eagerTries is how often a lost race is run again at once: the winner has just
	// begun its next commit, so now is the best moment.
	eagerTries = 8

	firstDelay   = 50 * time.Millisecond
	longestDelay = 5 * time.Second
	// longestRace is the longest delay after a lost race.
	longestRace = time.Second
)

// commitPace decides how often and how soon a commit is tried again. It implements
// backoff.BackOff.
type commitPace struct {
	lost, away, unclear int
	next                time.Duration
}

// again takes the error of an attempt and says whether there is to be another.
func (p *commitPace) again(err error) bool {
	switch {
	case isFinal(err):
		return false
	case isConflict(err):
		p.lost++
		p.next = min(longestRace, firstDelay<<min(8, max(0, p.lost-eagerTries-1)))
		if p.lost <= eagerTries {
			p.next = time.Millisecond
		}
	case isAway(err):
		p.away++
		p.next = min(longestDelay, firstDelay<<min(8, p.away-1))
	default:
		p.unclear++
		p.next = min(longestDelay, firstDelay<<min(8, p.unclear-1))
	}
	return p.unclear < maxUnclear
}

// NextBackOff returns the delay after the error that again took, half of it by chance.
func (p *commitPace) NextBackOff() time.Duration {
	return p.next/2 + rand.N(p.next/2+1)
}

// Reset does nothing: there is one pace a commit.
func (p *commitPace) Reset() {}
