package main

import "time"

// speed is how many samples a second come lately: a mean that forgets, so that the
// start of a run does not count for long.
type speed struct {
	rate  float64
	at    time.Time
	count int64
}

// memory of a speed: what is older than this counts little.
const speedMemory = 10 * time.Second

// see notes that so many samples have come by now.
func (s *speed) see(now time.Time, count int64) {
	since := now.Sub(s.at)
	if s.at.IsZero() {
		s.at, s.count = now, count
		return
	}
	if since < time.Second/2 { // batches come in bursts
		return
	}
	fresh := float64(count-s.count) / since.Seconds()
	weight := min(1, since.Seconds()/speedMemory.Seconds())
	if s.rate == 0 {
		weight = 1
	}
	s.rate += weight * (fresh - s.rate)
	s.at, s.count = now, count
}

// left is how long so many samples will take; false while nobody knows.
func (s *speed) left(samples float64) (time.Duration, bool) {
	seconds := samples / s.rate
	if s.rate <= 0 || seconds > 1e7 {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
