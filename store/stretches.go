package store

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// ErrUnordered marks a service that cannot list from a name on, though other services of
// its [Ranged] store can.
var ErrUnordered = errors.New("store: no order")

// Ranged is a store that can list from any name on, so that several parts of a large
// listing come at the same time.
type Ranged interface {
	Store
	// ObjectsAfter is Objects, of the names that come after one, by their bytes. If the
	// service cannot do that, the error is [ErrUnordered], or its order is another one.
	ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[Object, error]
}

const (
	mostStretches = 16   // listed at once
	aPage         = 1000 // objects, of which most services list so many with a request
	divisible     = 4 * aPage
)

// A stretch is a part of the names below a prefix, which is listed by one goroutine.
type stretch struct {
	from  string // the names after this one
	until string // and up to this one; "": to the end
	after string // the last that was listed
	b     *builder

	// The first name that the service listed, and the first that was beyond the end: if
	// names have an order, that is the first one of the next stretch.
	first, beyond string

	fresh  int         // objects since it was divided
	parent *stretch    // which it was a part of
	barren atomic.Bool // a part of it was empty: the names are elsewhere
}

// stretches lists the objects below a prefix. The names are listed from their beginning
// on. If there are many, the part that is still to come is divided, at names in the
// middle of those that there can be, and each part again, until as many are listed at
// once as is good. Names need not be spread evenly for that: an empty part costs one
// request.
type stretches struct {
	in     Store
	prefix string
	keep   func(b *builder, o Object) error // may be called by several goroutines, for builders of their own
	make   func() *builder

	ctx  context.Context
	stop context.CancelCauseFunc

	mu       sync.Mutex // guards what is below
	all      []*stretch
	at       sync.WaitGroup
	active   int
	isSerial bool // it is not divided: the service lists from no name on
	isLoose  bool // it has no order
}

// list lists all, in the order of names.
func (l *stretches) list(ctx context.Context) (*builder, error) {
	_, isRanged := l.in.(Ranged)
	l.isSerial = !isRanged
	err := l.run(ctx)
	if errors.Is(err, ErrUnordered) && ctx.Err() == nil {
		l.isSerial, l.all = true, nil
		err = l.run(ctx)
	}
	if err != nil {
		return nil, err
	}
	all := make([]*builder, len(l.all))
	for i, s := range l.all {
		all[i], s.b = s.b, nil
	}
	b := joined(all)
	if l.isLoose {
		b.sort()
	}
	return b, nil
}

func (l *stretches) run(ctx context.Context) error {
	l.ctx, l.stop = context.WithCancelCause(ctx)
	defer l.stop(nil)
	l.mu.Lock()
	l.begin(&stretch{})
	l.mu.Unlock()
	l.at.Wait()
	if err := context.Cause(l.ctx); err != nil {
		return err
	}
	slices.SortFunc(l.all, func(a, b *stretch) int { return cmp.Compare(a.from, b.from) })
	return l.joins()
}

// joins checks that each stretch ends at the first name of the next one. A service may
// list in the order of folders, which is not that of names' bytes: then a stretch that
// has ended at its last name has left some out.
func (l *stretches) joins() error {
	for i, next := range l.all[1:] {
		if l.all[i].beyond != next.first {
			return ErrUnordered
		}
	}
	return nil
}

// begin lists a stretch.
func (l *stretches) begin(s *stretch) {
	s.b = l.make()
	l.all = append(l.all, s)
	l.active++
	l.at.Go(func() {
		if err := l.follow(s); err != nil {
			l.stop(err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.active--
	})
}

func (l *stretches) objects(s *stretch) iter.Seq2[Object, error] {
	if s.from == "" {
		return l.in.Objects(l.ctx, l.prefix)
	}
	return l.in.(Ranged).ObjectsAfter(l.ctx, l.prefix, s.from)
}

// follow lists the objects of a stretch.
func (l *stretches) follow(s *stretch) error {
	n := 0
	for o, err := range l.objects(s) {
		if err == nil && s.first == "" {
			s.first = o.Name
		}
		switch {
		case err != nil:
			return err
		case o.Name <= s.after || o.Name <= s.from:
			if err := l.serial(); err != nil {
				return err
			}
		case s.until != "" && o.Name > s.until:
			s.beyond = o.Name
			return nil
		default:
			s.after = o.Name
		}
		if err := l.keep(s.b, o); err != nil {
			return err
		}
		n++
		if s.fresh++; n%aPage == 0 {
			l.divide(s)
		}
	}
	if n == 0 && s.parent != nil {
		s.parent.barren.Store(true)
	}
	return nil
}

// serial notes that names have no order. That is too late if there are several stretches.
func (l *stretches) serial() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) > 1 {
		return ErrUnordered
	}
	l.isSerial, l.isLoose = true, true
	return nil
}

// divide has parts of a stretch listed by others, as far as there are any.
func (l *stretches) divide(s *stretch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.fresh < divisible && !s.barren.Swap(false) {
		return
	}
	for !l.isSerial && l.active < mostStretches {
		middle := between(s.after, s.until, len(l.prefix))
		if middle == "" {
			return
		}
		l.begin(&stretch{from: middle, until: s.until, after: middle, parent: s})
		s.until, s.fresh = middle, 0
		if len(l.all)%4 == 0 {
			return // the others have names to give away, too
		}
	}
}

// between returns a name between two, the second of which may be empty: then it has the
// same first bytes as the first, so many. It is the first one up to a character, and then
// one of ASCII, so that it is text if names are. "": there is none.
func between(low, high string, from int) string {
	if high != "" && low >= high { // the name that was made up is that of an object
		return ""
	}
	m := middle(low, high, from)
	if high != "" && m >= high {
		return ""
	}
	return m
}

func middle(low, high string, from int) string {
	isBounded := high != ""
	for n := from; n <= len(low); n++ {
		a, b := byte(' ')-1, byte(0x7f)
		if n < len(low) {
			a = low[n]
		}
		if isBounded && high[n] < 0x7f {
			b = high[n]
		}
		switch m := a + (b-a)/2; {
		case isBounded && a == high[n]:
			continue
		case a < 0x7f && m > a:
			return low[:n] + string(rune(m))
		}
		isBounded = false // names with this byte, too, are below the second
	}
	return ""
}
