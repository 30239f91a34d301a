// Package restart decides how long a failed job waits before it runs again:
// Flink's exponential-delay strategy, as a step function without a clock.
//
//	b := restart.NewBackoff(restart.Policy{})
//	delay, ok := b.Failed(time.Now(), rand.Float64())
//	if !ok {
//		return err // no attempts left
//	}
package restart

import "time"

// Policy is the exponential-delay restart strategy. Zero values stand for the
// defaults of Flink 1.19 and later (restart-strategy.exponential-delay.*).
type Policy struct {
	// Initial is the first delay, by default 1 s.
	Initial time.Duration
	// Max bounds the delay before jitter, by default 1 min.
	Max time.Duration
	// Multiplier is what each failure multiplies the delay by, by default 1.5.
	Multiplier float64
	// Jitter is the share of the delay that chance adds or takes, by default
	// 0.1; negative: none.
	Jitter float64
	// ResetAfter is how long the job must have run, beyond the last delay,
	// for the delay to start from Initial again; by default 1 h.
	ResetAfter time.Duration
	// Attempts is the number of restarts in a row after which the job fails for
	// good, by default infinite; negative: never restart.
	Attempts int
}

func (p Policy) orDefaults() Policy {
	if p.Initial <= 0 {
		p.Initial = time.Second
	}
	if p.Max <= 0 {
		p.Max = time.Minute
	}
	p.Max = max(p.Max, p.Initial)
	if p.Multiplier < 1 {
		p.Multiplier = 1.5
	}
	if p.Jitter == 0 {
		p.Jitter = 0.1
	}
	p.Jitter = min(max(p.Jitter, 0), 1)
	if p.ResetAfter <= 0 {
		p.ResetAfter = time.Hour
	}
	return p
}

// Backoff is the state of the strategy between failures.
type Backoff struct {
	policy Policy
	delay  time.Duration // of the last failure, before jitter; 0 before the first
	last   time.Time     // the last failure
	inARow int
}

// NewBackoff returns the strategy at its start.
func NewBackoff(p Policy) *Backoff { return &Backoff{policy: p.orDefaults()} }

// Failed takes a failure at now and returns how long to wait before the next
// attempt, or false when there is none. chance is uniform in [0, 1).
func (b *Backoff) Failed(now time.Time, chance float64) (delay time.Duration, ok bool) {
	p := b.policy
	switch {
	case b.delay == 0 || now.Sub(b.last) >= p.ResetAfter+b.delay:
		b.delay, b.inARow = p.Initial, 0
	default:
		b.delay = min(time.Duration(float64(b.delay)*p.Multiplier), p.Max)
	}
	b.last = now
	b.inARow++
	if p.Attempts < 0 || p.Attempts > 0 && b.inARow > p.Attempts {
		return 0, false
	}
	offset := (2*chance - 1) * p.Jitter * float64(b.delay)
	return b.delay + time.Duration(offset), true
}
