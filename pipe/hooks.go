package pipe

import (
	"context"
	"time"
)

// Hooks learn what happens in a run. A nil func is not called, and costs nothing. A
// hook that panics, or ends its goroutine, stops the run, whatever the policy, with a
// *HookError: of Task in place of its item's result; of a Stage that ends in place of the
// io.EOF of the last epoch, after all items; otherwise at once.
type Hooks struct {
	// Lost is called for each source item that was lost, by Next, on its caller's
	// goroutine: in the order of the outputs, and before the output is returned whose
	// state first counts the loss. It is called once for an item, but for one of which
	// several outputs were made once for each that is lost: Loss.Output says which.
	Lost func(Loss)

	// Stage is called by Start for each stage, from the sources on. The func that it
	// returns, which may be nil, is called once, when the stage has done all that it will
	// do, or was stopped. Next returns the io.EOF of the last epoch when all of them have
	// returned. Where the run ends otherwise, by a failure or by Close, Close returns the
	// *HookError of one that panics.
	Stage func(StageInfo) (end func(StageStats))

	// Task is called for everything that a flow has to do for an item: the operations of
	// Map, Filter, FlatMap and Fill, the pick of a Route, an aggregator's Add and Flush,
	// and a source that is asked for its next item. It is called before, and what is done
	// gets the context that it returns, derived from the one that it is given; nil is
	// for that. The func that it returns, which may be nil, is called when that has
	// returned, or Limit has abandoned it. Operations run at once, and so do hooks.
	//
	// A source has one context for an epoch, which it began with.
	Task func(context.Context, Task) (inner context.Context, end func(Outcome))

	// Span is called for each part of the life of every worker, and of the consumer, when
	// it is over: by the worker itself, or by Next. Workers do that at once. Of one
	// worker it is called in order, whether a little later; and for the last time before
	// Close returns.
	Span func(Span)

	// Spans tells whether Span is wanted now, for a trace that comes and goes; nil: it
	// always is. While it is not, Span costs next to nothing. Workers ask all the time.
	Spans func() bool
}

// A Loss is a source item that failed within the policy, or something that was made of
// it: item Pos of the Source, lost in the Stage because of Err.
type Loss struct {
	Stage  string
	Source string
	Epoch  int
	Pos    int64
	Output []int64 // which of the outputs that stages made of the item, as in a [StageError]; nil: the item itself
	Err    error
}

// StageInfo says what a stage is.
type StageInfo struct {
	Name    string
	Kind    string // as in StageStats
	Workers int
	From    []string // the stages that it takes its items from; none of a source
}

// A Task is an operation that begins.
type Task struct {
	Stage string
	In    any // the item, which is the operation's; of a source the position that it is asked for, an int64; of a Flush nil
}

// An Outcome is what became of a Task.
type Outcome struct {
	// Out is the result: of a source the item, of a Route's pick the number of the
	// branch, of a FlatMap and of an aggregator how many outputs were handed on, of a
	// Fill the batch that was written into.
	Out any

	Err  error // Skip, too; io.EOF of a source that has no more in this epoch, or was stopped
	Took time.Duration
}

// Tee makes one of several hooks: they are called in this order, and what they return in
// the opposite one. It has no more funcs than any of them has. Span of all is called
// while one of them wants it.
func Tee(all ...Hooks) (t Hooks) {
	for _, h := range all {
		t = t.and(h)
	}
	return t
}

func (h Hooks) and(o Hooks) Hooks {
	if h.Lost == nil {
		h.Lost = o.Lost
	} else if first := h.Lost; o.Lost != nil {
		h.Lost = func(l Loss) { first(l); o.Lost(l) }
	}

	if h.Stage == nil {
		h.Stage = o.Stage
	} else if first := h.Stage; o.Stage != nil {
		h.Stage = func(i StageInfo) func(StageStats) {
			outer, inner := first(i), o.Stage(i)
			return nested(outer, inner)
		}
	}

	if h.Span == nil {
		h.Span, h.Spans = o.Span, o.Spans
	} else if first, wanted := h.Span, h.Spans; o.Span != nil {
		h.Span = func(s Span) { first(s); o.Span(s) }
		if h.Spans = nil; wanted != nil && o.Spans != nil {
			h.Spans = func() bool { return wanted() || o.Spans() }
		}
	}

	if h.Task == nil {
		h.Task = o.Task
	} else if first := h.Task; o.Task != nil {
		h.Task = func(ctx context.Context, t Task) (context.Context, func(Outcome)) {
			within, outer := first(ctx, t)
			if within == nil {
				within = ctx
			}
			deepest, inner := o.Task(within, t)
			if deepest == nil {
				deepest = within
			}
			return deepest, nested(outer, inner)
		}
	}

	return h
}

func nested[T any](outer, inner func(T)) func(T) {
	switch {
	case outer == nil:
		return inner
	case inner == nil:
		return outer
	}
	return func(v T) {
		defer outer(v)
		inner(v)
	}
}
