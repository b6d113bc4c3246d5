package store

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Counts counts the requests to one host, since the program began.
type Counts struct {
	Host      string
	Requests  int64
	Answers   int64
	Failed    int64         // connections and answers that broke off, stalled, or were wrong
	Throttled int64         // answers that asked for time
	Retries   int64         // requests sent again
	Hedges    int64         // requests sent twice, as they were late
	Won       int64         // of these, answered first
	Wanted    int64         // bytes asked for
	Fetched   int64         // bytes that came
	Waited    time.Duration // of requests for their turn
	Took      time.Duration // of requests, from when they were sent until all of the answer was read
	AtOnce    int           // requests that may be sent at once now
}

var (
	counting sync.Mutex // guards counters
	counters []func() []Counts
)

// CountBy adds a function that returns the counts of some hosts. What sends requests
// calls it once.
func CountBy(counts func() []Counts) {
	counting.Lock()
	defer counting.Unlock()
	counters = append(counters, counts)
}

// AllCounts returns the counts of all hosts, by their names.
func AllCounts() (all []Counts) {
	counting.Lock()
	defer counting.Unlock()
	for _, counts := range counters {
		all = append(all, counts()...)
	}
	slices.SortStableFunc(all, func(a, b Counts) int { return cmp.Compare(a.Host, b.Host) })
	each := all[:0]
	for _, c := range all {
		if n := len(each); n > 0 && each[n-1].Host == c.Host { // two stores read from it
			each[n-1].add(c)
			continue
		}
		each = append(each, c)
	}
	return each
}

func (c *Counts) add(more Counts) {
	c.Requests += more.Requests
	c.Answers += more.Answers
	c.Failed += more.Failed
	c.Throttled += more.Throttled
	c.Retries += more.Retries
	c.Hedges += more.Hedges
	c.Won += more.Won
	c.Wanted += more.Wanted
	c.Fetched += more.Fetched
	c.Waited += more.Waited
	c.Took += more.Took
	c.AtOnce = max(c.AtOnce, more.AtOnce)
}
