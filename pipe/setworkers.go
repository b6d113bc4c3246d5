package pipe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// SetWorkers changes how many workers a stage has: a Map, MapWith, Filter, FlatMap or
// Fill, by its name. It may be called at any time and by anyone, an operation too, and
// holds until the run ends or it is called again. Order, items and state stay what they
// would have been; only what Workers means changes, and with it how many results the
// stage may hold.
//
// More workers begin at once. Where there are too many, those that come first to the end
// of what they have in hand leave, and those that wait leave right away: SetWorkers does
// not wait for them, but no more than n take another item once it has returned. A worker
// of a MapWith that leaves ends with what it began with, and one that comes begins with
// its own. A Fill with more workers may fill more batches of its Store at a time.
//
// It is an error when there is no such stage, when the number of the stage's workers is
// fixed by its kind, when n is less than 1 or more than [MaxWorkers], and ErrClosed when
// the run is closed. Where the stage is through with its last item the number is noted,
// and that is all.
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
		return s.wrong("%d workers: must be at least 1", n)
	}
	if tooMany(n, s.inFlight) {
		return s.wrong("%d workers: must be at most %d", n, MaxWorkers/max(1, s.inFlight))
	}
	if s.lanes <= 1 {
		s.SetWorkers(n)
		return nil
	}
	if s.onResize != nil { // workers elsewhere are those of all lanes
		s.onResize(n)
	}
	for _, one := range r.engine.stages {
		if one.name == stage {
			one.SetWorkers(one.share(n))
		}
	}
	return nil
}

// resized calls OnResize; for lanes SetWorkers does, once.
func (n *node) resized(workers int) {
	if n.onResize != nil && n.lanes <= 1 {
		n.onResize(workers)
	}
}

// share returns the stage's share of n workers among its lanes, at least one.
func (n *node) share(workers int) int { return (workers-1)/max(1, n.lanes) + 1 }

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

// alike is how much two names have in common: whether one is in the other, and how they
// begin and end.
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
