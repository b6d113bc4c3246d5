package group

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/pipe"
)

// Row is several samples after each other. From Length on it is empty.
type Row[T any] struct {
	Segments []Segment[T]
	Length   int // of all segments
}

// Segment is a sample in a row.
type Segment[T any] struct {
	Item   T
	Offset int // at which it begins
	Length int // that it takes; less than the sample has where that was truncated
}

// Fit says into which row a sample goes.
type Fit uint8

const (
	BestFit  Fit = iota // the one that it leaves the least room in
	FirstFit            // the oldest
)

// PackOpts are the settings of [Pack].
type PackOpts struct {
	Length   int // of a row; required
	Segments int // the most samples of a row; 0: no limit
	Open     int // rows that are filled at once; 0: DefaultOpen. More leave less room, and hold more samples
	Fit      Fit
	Overlong Overlong
}

// Check returns what is wrong with the settings, all of it.
func (o PackOpts) Check() error {
	errs := []error{o.Overlong.check()}
	if o.Length < 1 {
		errs = append(errs, fmt.Errorf("group: rows of length %d: must be at least 1", o.Length))
	}
	if o.Segments < 0 || o.Open < 0 {
		errs = append(errs, fmt.Errorf("group: %d segments in each of %d open rows: must be at least 0", o.Segments, o.Open))
	}
	if o.Fit > FirstFit {
		errs = append(errs, fmt.Errorf("group: fit(%d): must be BestFit or FirstFit", o.Fit))
	}
	return errors.Join(errs...)
}

// Pack makes aggregators that put samples into rows of one length, without cutting any.
// A sample goes into one of the open rows in which it fits, else into a new one. A row
// is handed on when it is full, or to make place for a new one: the fullest then, since
// the others are more likely to take something yet; of several such the oldest. At the
// end of an epoch all that are open are handed on, the oldest first, or dropped, as
// [pipe.AggregateOpts] say. A sample of length 0 fails.
//
// Which row a sample goes into is a choice among those in which it fits, and no row
// that it did not choose makes a difference to it: without the rows that were handed
// on, every sample that is left chooses the same row as with them. There were never
// more rows open, either, so that none is handed on early but those that were. That
// would not be so if rows waited for each other, or if all of them were handed on at
// once.
func Pack[T any](length func(T) int, o PackOpts) (begin func() pipe.Aggregator[T, Row[T]], err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Segments == 0 {
		o.Segments = o.Length
	}
	if o.Open == 0 {
		o.Open = DefaultOpen
	}
	return func() pipe.Aggregator[T, Row[T]] { return &pack[T]{length: length, opts: o} }, nil
}

type pack[T any] struct {
	length func(T) int
	opts   PackOpts
	open   []row[T] // the oldest first
	left   []int    // what each of them still takes; apart from them, since it is looked through for every sample
	spare  [][]pipe.Held[T]
}

// row is one that is being filled.
type row[T any] struct {
	segments []Segment[T]
	held     []pipe.Held[T]
}

func (p *pack[T]) Add(_ context.Context, v pipe.Held[T], e *pipe.Emitter[T, Row[T]]) error {
	n, err := p.opts.Overlong.Fit(p.length(v.Value), p.opts.Length)
	if err != nil {
		return err
	}
	if n == 0 {
		return errors.New("group: its length is 0: there is nothing to pack")
	}
	at := p.choose(n)
	if at < 0 {
		if len(p.open) == p.opts.Open {
			p.emit(p.fullest(), e)
		}
		at = len(p.open)
		p.open = append(p.open, row[T]{held: p.room()})
		p.left = append(p.left, p.opts.Length)
	}
	to := &p.open[at]
	to.segments = append(to.segments, Segment[T]{v.Value, p.opts.Length - p.left[at], n})
	to.held = append(to.held, v)
	p.left[at] -= n
	if p.left[at] == 0 || len(to.held) == p.opts.Segments {
		p.emit(at, e)
	}
	return nil
}

// choose returns the open row for a sample of length n, or -1.
func (p *pack[T]) choose(n int) int {
	best := -1
	for i, left := range p.left {
		if n > left || best >= 0 && left >= p.left[best] {
			continue
		}
		best = i
		if p.opts.Fit == FirstFit {
			break
		}
	}
	return best
}

func (p *pack[T]) fullest() (at int) {
	for i, left := range p.left {
		if left < p.left[at] {
			at = i
		}
	}
	return at
}

func (p *pack[T]) Flush(_ context.Context, e *pipe.Emitter[T, Row[T]]) error {
	for len(p.open) > 0 {
		p.emit(0, e)
	}
	return nil
}

func (p *pack[T]) emit(at int, e *pipe.Emitter[T, Row[T]]) {
	r := p.open[at]
	e.Emit(Row[T]{r.segments, p.opts.Length - p.left[at]}, r.held...)
	clear(r.held)
	p.spare = append(p.spare, r.held[:0])
	p.open = append(p.open[:at], p.open[at+1:]...)
	p.left = append(p.left[:at], p.left[at+1:]...)
}

func (p *pack[T]) room() (room []pipe.Held[T]) {
	if n := len(p.spare); n > 0 {
		room, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	return room
}
