package pipe

import (
	"context"
	"errors"
	"iter"
	"time"

	"headrace/pipe/internal/progress"
)

// FlatMap makes any number of items of each: f returns their sequence, and every one is handed on when it is yielded, before the
// next is made. A sequence whose outputs nobody takes waits in its yield. When it yields an error the item has failed: the
// sequence ends there, and the outputs before are kept. The error Skip ends it quietly.
//
// A source item is finished when all that was made of it is. For a state in between, f has to yield the same outputs for
// the same item in every run: those that are finished are made again after a resume, and dropped.
//
// The stage works on Workers items and keeps Buffer outputs ready; where it keeps order, that many of every item whose turn has not
// come besides. With InFlightPerWorker, more items are in hand; their sequences begin in the order of the items, and no more than Workers are under way. A policy
// of its own counts outputs, and failures.
func FlatMap[In, Out any](in Flow[In], f func(context.Context, In) iter.Seq2[Out, error], o Opts) Flow[Out] {
	n := &node{name: o.Name, kind: kindFlatMap, workers: o.Workers, buffer: o.Buffer, ordered: o.Ordered, gate: o.Gate, policy: o.Failures, inFlight: o.InFlightPerWorker, onResize: o.OnResize, makes: true, ups: []*node{in.node}}
	n.settle()
	if f == nil {
		n.mistake("its function is nil")
	}
	return Flow[Out]{node: n, open: func(op *opening, below *stage) *ring[Out] {
		st := op.newStage(n, below)
		out := newRing[Out](st, n.buffer)
		s := &flatStage[In, Out]{stage: st, in: in.into(op, st), f: f, saved: op.progress.UnfinishedOf(n.name, op.config.Resume.Parts), lanes: newLanes(st, out)}
		op.runAll(st, s.work, func(workers int) {
			s.lanes.widen(workers)
			s.in.wakeTakers()
		})
		return out
	}}
}

type flatStage[In, Out any] struct {
	*stage
	in    *ring[In]
	f     func(context.Context, In) iter.Seq2[Out, error]
	saved *progress.Unfinished
	*lanes[Out]
}

// work is the life of one worker: an input, its outputs.
func (s *flatStage[In, Out]) work(w *worker) {
	var buf [1]msg[In]
	for {
		h := s.in.take(w, buf[:])
		if len(h.msgs) == 0 {
			return
		}
		m := buf[0]
		buf[0] = msg[In]{}
		at := turn{number: h.at, epoch: h.segment.epoch}

		if m.kind == item {
			if !s.expand(w, at, m) {
				return
			}
			continue
		}

		if !s.begin(w, at, false) {
			return
		}

		if m.kind == mark && s.saved != nil && at.epoch == 0 {
			s.await(w, at) // until then another worker may not have claimed its item
			if err := s.saved.Missing(); err != nil && !s.cutShort(at.epoch) {
				s.refuse(w, at, progress.Lineage{}, Fatal(err))
				return
			}
		}

		if m.kind == gone || m.kind == failed {
			if err := s.saved.Spoilt(&m.lineage, at.epoch); err != nil && !s.cutShort(at.epoch) {
				s.refuse(w, at, m.lineage, Fatal(err))
				return
			}
		}

		if !s.pass(w, at, msg[Out]{lineage: m.lineage, kind: m.kind, last: m.last, failure: m.failure}) {
			return
		}
	}
}

// expand hands on what is made of an item. It reports whether the stage goes on.
func (s *flatStage[In, Out]) expand(w *worker, at turn, in msg[In]) bool {
	if !w.enter() {
		s.in.discard(in.val)
		return false
	}

	w.in.Add(1)
	if !s.begin(w, at, true) {
		s.in.discard(in.val)
		w.leave()
		return false
	}

	w.takes(&in.lineage, at.epoch)
	if w.tracer != nil {
		w.tracer.begin(in.val, &in.lineage, at.epoch)
	}
	before := w.busyTime()

	done, err := s.saved.Claim(&in.lineage, at.epoch)
	if err != nil {
		s.in.discard(in.val)
		s.sequenceEnded()
		w.leave()
		w.has()
		if s.cutShort(at.epoch) { // it lacks what its source has left out, and is not needed
			return s.pass(w, at, msg[Out]{kind: gone, lineage: in.lineage})
		}
		return s.refuse(w, at, in.lineage, Fatal(err))
	}

	brood := progress.FanOut{Stage: s.name, Parent: in.lineage, Skip: done}
	handOn := func(ctx context.Context, in In) (made int, err error) {
		for v, err := range s.f(ctx, in) {
			if err != nil {
				return made, err
			}
			made++
			w.sampler.unread++ // what it took to make is no waiting
			child, ok := brood.Next()
			m := msg[Out]{kind: item, val: v, lineage: child}
			if !ok {
				s.out.discardMsg(m)
			} else if !s.hand(w, at, m) {
				return made, errStopped
			}
		}
		return made, nil
	}

	op := watched(s.stage, handOn, s.in.discard, func(int) {})
	on := false
	ended := func(err error) { on = s.ended(w, at, &brood, before, err) }
	ended(w.attempt(func() error { _, err := op(w.ctx, in.val); return err }, ended))
	return on
}

// ended is what becomes of an item whose sequence has ended. It reports whether the stage goes on.
func (s *flatStage[In, Out]) ended(w *worker, at turn, brood *progress.FanOut, before time.Duration, err error) bool {
	s.sequenceEnded()
	w.leave()
	w.has()

	if err != nil {
		w.failed(err)
	}
	w.settle()
	w.tellSpans()
	s.times.add(w.busyTime() - before)

	// Another error is itself a reason for fewer outputs than before the resume.
	if err == nil || errors.Is(err, Skip) {
		if bad := brood.Unmade(); bad != nil {
			err = Fatal(bad)
		}
	}

	end := msg[Out]{kind: gone, lineage: brood.End()}
	switch {
	case err == nil:
	case w.ctx.Err() != nil:
		return false // what fails because the run was stopped has not failed
	case errors.Is(err, Skip):
		w.skipped.Add(1)
	case brood.Ended() && !untolerable(err): // it was lost before the run was resumed
	default:
		end.kind, end.failure = failed, &failure{stage: s.stage, err: err, stops: untolerable(err)}
		if s.raises || end.failure.stops {
			s.haltAbove()
		}
	}

	return s.pass(w, at, end) && (end.kind != failed || !s.raises && !end.failure.stops)
}

// refuse ends the run, because it cannot go on from the state that it was resumed from. It returns false.
func (s *flatStage[In, Out]) refuse(w *worker, at turn, what progress.Lineage, why error) bool {
	s.haltAbove()
	s.pass(w, at, msg[Out]{kind: fatal, lineage: what, failure: &failure{stage: s.stage, err: why}})
	return false
}

var errStopped = errors.New("pipe: the stage was stopped")
