package pipe

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// FlatMap makes any number of items of each: f returns their sequence, and every one is
// handed on when it is yielded, before the next is made. A sequence whose outputs nobody
// takes waits in its yield. When it yields an error the item has failed: the sequence
// ends there, and the outputs before are kept. The error Skip ends it quietly.
//
// A source item is finished when all that was made of it is. For a state in between, f
// has to yield the same outputs for the same item in every run: those that are finished
// are made again after a resume, and dropped.
//
// The stage works on Workers items and keeps Buffer outputs ready; where it keeps order,
// that many of every item whose turn has not come besides. With InFlightPerWorker, more
// items are in hand; their sequences begin in the order of the items, and no more than
// Workers are under way. A policy of its own counts outputs, and failures.
func FlatMap[In, Out any](in Flow[In], f func(context.Context, In) iter.Seq2[Out, error], o Opts) Flow[Out] {
	n := &node{name: o.Name, kind: kindFlatMap, workers: o.Workers, buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate,
		policy: o.Failures, inFlight: o.InFlightPerWorker, onResize: o.OnResize, makes: true, ups: []*node{in.node}}
	n.settle()
	if f == nil {
		n.mistake("its function is nil")
	}
	return Flow[Out]{node: n, open: func(op *opening, below *stage) *queue.Ring[Out] {
		st := op.newStage(n, below)
		out := newQueue[Out](st, n.buffer)
		s := &flatStage[In, Out]{stage: st, in: in.into(op, st), f: f,
			saved: op.progress.UnfinishedOf(n.key(), op.config.Resume.Parts), lanes: newLanes(st, out)}
		op.runAll(st, s.work, func(workers int) {
			s.lanes.widen(workers)
			s.in.WakeTakers()
		})
		return out
	}}
}

type flatStage[In, Out any] struct {
	*stage
	in    *queue.Ring[In]
	f     func(context.Context, In) iter.Seq2[Out, error]
	saved *progress.Unfinished
	*lanes[Out]
}

// work is the life of one worker: an input, its outputs.
func (s *flatStage[In, Out]) work(w *worker.Worker) {
	var buf [1]queue.Message[In]
	for {
		h := s.in.Take(w, buf[:])
		if len(h.Msgs) == 0 {
			return
		}
		m := buf[0]
		buf[0] = queue.Message[In]{}
		at := turn{number: h.At, epoch: h.Segment.Epoch}

		if m.Kind == queue.Item {
			if !s.expand(w, at, m) {
				return
			}
			continue
		}

		if !s.begin(w, at, false) {
			return
		}

		if m.Kind == queue.Mark && s.saved != nil && at.epoch == 0 {
			s.await(w, at) // until then another worker may not have claimed its item
			if err := s.saved.Missing(); err != nil && !s.cutShort(at.epoch) {
				s.refuse(w, at, progress.Lineage{}, Fatal(err))
				return
			}
		}

		if m.Kind == queue.Gone || m.Kind == queue.Failed {
			if err := s.saved.Spoilt(&m.Lineage, at.epoch); err != nil && !s.cutShort(at.epoch) {
				s.refuse(w, at, m.Lineage, Fatal(err))
				return
			}
		}

		if !s.pass(w, at, queue.Message[Out]{Lineage: m.Lineage, Kind: m.Kind, Last: m.Last, Turn: m.Turn, Failure: m.Failure}) {
			return
		}
	}
}

// expand hands on what is made of an item. It reports whether the stage goes on.
func (s *flatStage[In, Out]) expand(w *worker.Worker, at turn, in queue.Message[In]) bool {
	if !w.EnterGate() {
		s.in.Discard(in.Val)
		return false
	}

	w.In.Add(1)
	if !s.begin(w, at, true) {
		s.in.Discard(in.Val)
		w.LeaveGate()
		return false
	}

	w.BeginItem(&in.Lineage, at.epoch)
	if w.Tracer != nil {
		w.Tracer.Begin(in.Val, &in.Lineage, at.epoch)
	}
	before := w.BusyTime()

	done, err := s.saved.Claim(&in.Lineage, at.epoch)
	if err != nil {
		s.in.Discard(in.Val)
		s.sequenceEnded()
		w.LeaveGate()
		w.EndItem()
		if s.cutShort(at.epoch) { // it lacks what its source has left out, and is not needed
			return s.pass(w, at, queue.Message[Out]{Kind: queue.Gone, Lineage: in.Lineage})
		}
		return s.refuse(w, at, in.Lineage, Fatal(err))
	}

	fanOut := progress.FanOut{Stage: s.key(), Parent: in.Lineage, Skip: done}
	handOn := func(ctx context.Context, in In) (made int, err error) {
		for v, err := range s.f(ctx, in) {
			if err != nil {
				return made, err
			}
			made++
			w.Sampler.Unread++ // what it took to make is no waiting
			child, ok := fanOut.Next()
			m := queue.Message[Out]{Kind: queue.Item, Val: v, Lineage: child}
			if !ok {
				s.out.DiscardMsg(m)
			} else if !s.handOn(w, at, m) {
				return made, errStopped
			}
		}
		return made, nil
	}

	op := watched(s.stage, handOn, s.in.Discard, func(int) {})
	on := false
	ended := func(err error) { on = s.ended(w, at, &fanOut, before, err) }
	ended(w.Attempt(func() error { _, err := op(w.Ctx, in.Val); return err }, ended))
	return on
}

// ended is what becomes of an item whose sequence has ended. It reports whether the stage
// goes on.
func (s *flatStage[In, Out]) ended(w *worker.Worker, at turn, fanOut *progress.FanOut, before time.Duration, err error) bool {
	s.sequenceEnded()
	w.LeaveGate()
	w.EndItem()

	if err != nil {
		w.NoteError(err)
	}
	w.Settle()
	w.TellSpans()
	s.Times.Add(w.BusyTime() - before)

	// Another error is itself a reason for fewer outputs than before the resume.
	if err == nil || errors.Is(err, failure.Skip) {
		if bad := fanOut.Unmade(); bad != nil {
			err = Fatal(bad)
		}
	}

	end := queue.Message[Out]{Kind: queue.Gone, Lineage: fanOut.End()}
	switch {
	case err == nil:
	case w.Ctx.Err() != nil:
		return false // what fails because the run was stopped has not failed
	case errors.Is(err, failure.Skip):
		w.Skipped.Add(1)
	case fanOut.Ended() && !Stops(err): // it was lost before the run was resumed
	default:
		end.Kind, end.Failure = queue.Failed, s.NewFailure(err)
		if s.raises || end.Failure.Stops {
			s.haltAbove()
		}
	}

	return s.pass(w, at, end) && (end.Kind != queue.Failed || !s.raises && !end.Failure.Stops)
}

// refuse ends the run, because it cannot go on from the state that it was resumed from.
// It returns false.
func (s *flatStage[In, Out]) refuse(w *worker.Worker, at turn, what progress.Lineage, why error) bool {
	s.haltAbove()
	s.pass(w, at, queue.Message[Out]{Kind: queue.Fatal, Lineage: what, Failure: s.NewFailure(why)})
	return false
}

var errStopped = errors.New("pipe: the stage was stopped")
