package store

import (
	"cmp"
	"fmt"
	"maps"
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
	Silent    time.Duration // for which it has not answered, though it was asked; 0: it is not asked, or answers
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
	c.Silent = max(c.Silent, more.Silent)
}

// Silence is said of a host that does not answer, and of one that does so again.
type Silence struct {
	Host  string
	For   time.Duration
	Error string // of the last request that has failed; "": none has
	Ended bool
}

// String is a sentence for people.
func (s Silence) String() string {
	lasts := s.For.Round(time.Second)
	switch {
	case s.Ended:
		return fmt.Sprintf("%s answers again, after %v", s.Host, lasts)
	case s.Error == "":
		return fmt.Sprintf("%s has sent nothing for %v: reads wait for it", s.Host, lasts)
	}
	return fmt.Sprintf("%s has sent nothing for %v (%s): reads wait for it, and try again", s.Host, lasts, s.Error)
}

var (
	watching sync.Mutex // guards watchers
	watchers = map[*func(Silence)]bool{}
)

// Watch has a function called when a host has not answered for a while, now and then
// while that lasts, and when it answers again. It must return soon. Stop ends that.
func Watch(f func(Silence)) (stop func()) {
	watching.Lock()
	defer watching.Unlock()
	key := &f
	watchers[key] = true
	return func() {
		watching.Lock()
		defer watching.Unlock()
		delete(watchers, key)
	}
}

// Say calls all functions that watch.
func Say(s Silence) {
	watching.Lock()
	all := slices.Collect(maps.Keys(watchers))
	watching.Unlock()
	for _, f := range all { // without the lock: one may wait for its client
		(*f)(s)
	}
}
