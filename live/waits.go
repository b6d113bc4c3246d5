package live

import (
	"slices"
	"time"
)

// waits are the latest waits of the loop, of at most a minute.
type waits struct {
	last [512]wait
	n    int
}

type wait struct {
	at   time.Time
	took time.Duration
}

const waitsOf = time.Minute

func (w *waits) add(at time.Time, took time.Duration) {
	w.last[w.n%len(w.last)] = wait{at, took}
	w.n++
}

// Waits are the waits of the loop for single batches, in seconds.
type Waits struct {
	Count   int     `json:"count"`
	Typical float64 `json:"p50"`
	Slow    float64 `json:"p99"`
	Longest float64 `json:"max"`
}

// of returns the waits of the minute before a time.
func (w *waits) of(now time.Time) Waits {
	var all []time.Duration
	for _, one := range w.last[:min(w.n, len(w.last))] {
		if now.Sub(one.at) <= waitsOf {
			all = append(all, one.took)
		}
	}
	if all == nil {
		return Waits{}
	}
	slices.Sort(all)
	at := func(share float64) float64 { return brief(all[int(share*float64(len(all)-1))].Seconds()) }
	return Waits{len(all), at(0.50), at(0.99), at(1)}
}
