package pipe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// SetWorkers changes how many workers a stage has: a Map, MapWith, Filter, FlatMap or Fill, by its name. It may be called at any time
// and by anyone, an operation too, and holds until the run ends or it is called again. Order, items and state stay what they would have
// been; only what Workers means changes, and with it how many results the stage may hold.
//
// More workers begin at once. Where there are too many, those that come first to the end of what they have in hand leave, and those that wait
// leave right away: SetWorkers does not wait for them, but no more than n take another item once it has returned. A worker of
// a MapWith that leaves ends with what it began with, and one that comes begins with its own. A Fill with more workers may fill more batches of its Store at a time.
//
// It is an error when there is no such stage, when the number of the stage's workers is fixed by its kind, when n is less than 1 or more than [MaxWorkers], and ErrClosed when the run
// is closed. Where the stage is through with its last item the number is noted, and that is all.
func (r *Run[T]) SetWorkers(stage string, n int) error {
	if r.closed.Load() {
		return ErrClosed
	}
	s, err := r.engine.stage(stage)
	if err != nil {
		return err
	}
	switch s.kind {
	case kindMap, kindFilter, kindFlatMap, kindFill:
	default:
		return s.wrong("it is %s, and the number of its workers is fixed", article(s.kind))
	}
	if n < 1 {
		return s.wrong("%d workers: it takes at least 1", n)
	}
	if _, ok := operations(n, s.inFlight); !ok {
		return s.wrong("%d workers: it takes at most %d", n, MaxWorkers/max(1, s.inFlight))
	}
	s.setWorkers(n)
	return nil
}

// A crew are the workers of a stage.
type workerSet struct {
	work func(*worker)     // what each does, where their number can change
	fit  func(workers int) // makes the stage fit for so many, and wakes those that wait for an item, or a place for it

	cleanUp func() // what is left to do behind the last; may be nil

	number  atomic.Int64 // how many there are to be
	excess  atomic.Int64 // how many have to leave
	present atomic.Int64 // how many have not ended

	mu      sync.Mutex
	members []*worker // all that were ever there at once. A worker takes over the seat of one that has left, with its counts
	vacant  []*worker // of them those that nobody has
}

// hire notes how many workers the stage is to have, and says how many operations at once that are.
func (s *stage) resize(n int) (operations int) {
	switch {
	case s.resizes != nil:
		s.resizes(n)
	case s.onResize != nil:
		s.onResize(n)
	}
	s.number.Store(int64(n * max(1, s.inFlight)))
	return n * max(1, s.inFlight)
}

// setWorkers is SetWorkers of a stage whose number can change.
func (s *stage) setWorkers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.number.Load()
	operations := s.resize(n)
	more := int64(operations) - before
	if more < 0 {
		s.excess.Add(-more)
	}
	s.fit(operations)
	for range more {
		if !s.mustStop() { // otherwise one stays that was about to leave
			s.addWorker()
		}
	}
}

// dismissed tells a worker that it has to leave. Each worker too many is told once.
func (c *workerSet) mustStop() bool {
	for n := c.excess.Load(); n > 0; n = c.excess.Load() {
		if c.excess.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// join starts one more worker, unless the stage is over. The lock is held.
func (s *stage) addWorker() {
	if !s.engine.hold() {
		return
	}
	for {
		n := s.present.Load()
		if n == 0 {
			s.engine.gone()
			return
		}
		if s.present.CompareAndSwap(n, n+1) {
			break
		}
	}
	s.engine.begin(s.newMember(), s.work)
}

// seat is one that nobody has. The lock is held.
func (s *stage) newMember() *worker {
	if last := len(s.vacant) - 1; last >= 0 {
		w := s.vacant[last]
		s.vacant = s.vacant[:last]
		w.sampler, w.last = clockSampler{}, s.engine.now()
		if w.heartbeat != nil {
			w.heartbeat.at.Store(0)
		}
		return w
	}
	w := s.newWorker().traced(len(s.members))
	s.members = append(s.members, w)
	return w
}

// working are the workers that are there.
func (s *stage) working() (all []*worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.members {
		if !slices.Contains(s.vacant, w) {
			all = append(all, w)
		}
	}
	return all
}

// left ends a worker, and the stage with its last one.
func (s *stage) ended(w *worker) {
	s.mu.Lock()
	s.vacant = append(s.vacant, w)
	s.mu.Unlock()
	if s.present.Add(-1) > 0 {
		return
	}
	if s.cleanUp != nil {
		s.cleanUp()
	}
	s.endHook()
}

// stage finds one by its name.
func (e *engine) stage(name string) (*stage, error) {
	var names []string
	for _, s := range e.stages {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(alike(b, name), alike(a, name)) })
	return nil, fmt.Errorf("pipe: there is no stage %q; there are %s", name, strings.Join(names, ", "))
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// alike is how much two names have in common: whether one is in the other, and how they begin and end.
func alike(a, b string) (n int) {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if strings.Contains(a, b) || strings.Contains(b, a) {
		n = min(len(a), len(b))
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b, n = a[1:], b[1:], n+1
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b, n = a[:len(a)-1], b[:len(b)-1], n+1
	}
	return n
}
