package group

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/pipe"
)

// DefaultOpen is how many batches of different shapes, or rows of a pack, are open at
// once where nothing is said.
const DefaultOpen = 64

// ShapeOpts are the settings of [Shapes].
type ShapeOpts struct {
	Size int // samples of a batch; required
	Open int // the most batches that are gathered at once; 0: DefaultOpen
}

// Check returns what is wrong with the settings.
func (o ShapeOpts) Check() error {
	if o.Size < 1 || o.Open < 0 {
		return fmt.Errorf("group: batches of %d samples, %d open: the size must be at least 1, "+
			"and no number of open batches below 0", o.Size, o.Open)
	}
	return nil
}

// Shapes makes aggregators that gather samples of one shape: images of the same aspect
// ratio, which is of few, as it is after a resize to one of several sizes. An error of
// shape is the failure of its sample. Where samples have more shapes than batches may
// be open, the oldest batch is handed on as it is. At the end of an epoch that happens
// to all, the oldest first, or they are dropped, as [pipe.AggregateOpts] say.
//
// Shapes know nothing of each other. Only how many are open brings them together; and
// without the samples that were handed on, there were never more open than with them,
// so that no batch is handed on early but those that were. It is the oldest, and not
// the fullest: of a rare shape a batch would never be that, and would keep its place
// from shapes that need it.
func Shapes[T any, S comparable](shape func(T) (S, error), o ShapeOpts) (begin func() pipe.Aggregator[T, Placed[T, S]], err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Open == 0 {
		o.Open = DefaultOpen
	}
	return func() pipe.Aggregator[T, Placed[T, S]] { return &shapes[T, S]{shape: shape, opts: o} }, nil
}

type shapes[T any, S comparable] struct {
	shape func(T) (S, error)
	opts  ShapeOpts
	open  []shaped[T, S] // the oldest first
	spare [][]pipe.Held[T]
}

// shaped is the batch that is being gathered of one shape.
type shaped[T any, S comparable] struct {
	shape S
	held  []pipe.Held[T]
}

func (s *shapes[T, S]) Add(_ context.Context, v pipe.Held[T], e *pipe.Emitter[T, Placed[T, S]]) error {
	shape, err := s.shape(v.Value)
	if err != nil {
		return err
	}
	at := s.find(shape)
	if at == len(s.open) {
		if at == s.opts.Open {
			s.emit(0, e)
		}
		at = len(s.open)
		s.open = append(s.open, shaped[T, S]{shape, s.room()})
	}
	to := &s.open[at]
	if to.held = append(to.held, v); len(to.held) == s.opts.Size {
		s.emit(at, e)
	}
	return nil
}

func (s *shapes[T, S]) find(shape S) int {
	for i := range s.open {
		if s.open[i].shape == shape {
			return i
		}
	}
	return len(s.open)
}

func (s *shapes[T, S]) Flush(_ context.Context, e *pipe.Emitter[T, Placed[T, S]]) error {
	for len(s.open) > 0 {
		s.emit(0, e)
	}
	return nil
}

func (s *shapes[T, S]) emit(at int, e *pipe.Emitter[T, Placed[T, S]]) {
	b := s.open[at]
	emit(e, b.shape, b.held)
	s.spare = append(s.spare, b.held[:0])
	s.open = append(s.open[:at], s.open[at+1:]...)
}

func (s *shapes[T, S]) room() (room []pipe.Held[T]) {
	if n := len(s.spare); n > 0 {
		room, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	return room
}
