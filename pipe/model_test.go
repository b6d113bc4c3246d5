package pipe_test

import (
	"fmt"
	"slices"

	"headrace/pipe"
)

// The model is the sequential meaning of a pipeline, written without a thought of how the
// engine does it: every stage is a function from the whole list of messages of its input
// to the list of messages of its output.

// A spec is a random pipeline.
type spec struct {
	items    int
	quick    bool // almost no operation takes time: items travel in runs
	first    int
	epochs   int
	failures pipe.Policy
	stages   []stageSpec
	gate     int // limit of the gate that some stages share
	seed     uint64
	faults   faults // of the source
}

type stageSpec struct {
	kind     string // map, batch or fill
	workers  int
	buffer   int
	gated    bool
	n        int
	dropLast bool
	pool     int // batches that a fill's store has
	own      *pipe.Policy
	faults   faults
}

// faults are chances in percent.
type faults struct{ skip, fail, panics int }

type fate int

const (
	fine fate = iota
	skips
	fails
	panics
)

// fate is what happens to the item that begins with source position id at stage k (the
// source: -1).
func (s spec) fate(k, epoch, id int) fate {
	f := s.faults
	if k >= 0 {
		f = s.stages[k].faults
	}
	switch at := int(s.hash(k, epoch, id, 0) % 100); {
	case at < f.skip:
		return skips
	case at < f.skip+f.fail:
		return fails
	case at < f.skip+f.fail+f.panics:
		return panics
	}
	return fine
}

func (s spec) hash(a, b, c, d int) uint64 {
	h := s.seed ^ 0x9e3779b97f4a7c15
	for _, x := range []int{a, b, c, d} {
		h = (h ^ uint64(x+7)) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	return h
}

func (s spec) name(k int) string {
	if k < 0 {
		return "source"
	}
	return fmt.Sprint("stage", k)
}

// An event is what a consumer sees: an item, the end of an epoch, or the failure, with
// the losses told before it and the state after it.
type event struct {
	kind   string // item, end, error
	ids    []int
	stage  string // of an error
	epoch  int
	pos    int64
	losses []pipe.Loss // without their errors
	state  pipe.SourceState
}

func (e event) String() string {
	for i := range e.losses {
		e.losses[i].Err = nil
	}
	return fmt.Sprintf("%s %v %s/%d/%d losses %v state %+v", e.kind, e.ids, e.stage, e.epoch, e.pos, e.losses, e.state)
}

// A message is an item, or what became of some.
type message struct {
	kind  string // item, gone, lost, end, fatal
	ids   []int
	stage int
	ruled bool // a policy of the stage's own has tolerated the loss
}

// expect is everything that a consumer sees of a run from a state on.
func (s spec) expect(from pipe.SourceState) (events []event) {
	for epoch := from.Epoch; epoch < s.first+s.epochs; epoch++ {
		msgs := s.source(epoch, from)
		for k, st := range s.stages {
			switch st.kind {
			case "map":
				msgs = s.mapped(k, epoch, msgs)
			case "batch":
				msgs = s.batched(st, msgs)
			case "fill":
				msgs = s.batched(st, s.mapped(k, epoch, msgs))
			}
		}
		seen, failed := s.consumed(epoch, from, msgs)
		events = append(events, seen...)
		if failed {
			return events
		}
		from = pipe.SourceState{Epoch: epoch + 1}
	}
	return events
}

func (s spec) source(epoch int, from pipe.SourceState) (msgs []message) {
	done := finishedSet(from)
	for id := range s.items {
		if done[id] {
			continue
		}
		if s.fate(-1, epoch, id) == fine || s.fate(-1, epoch, id) == skips {
			msgs = append(msgs, message{kind: "item", ids: []int{id}})
		} else if s.failures.Skip {
			msgs = append(msgs, message{kind: "lost", ids: []int{id}, stage: -1})
		} else {
			return append(msgs, message{kind: "fatal", ids: []int{id}, stage: -1})
		}
	}
	return append(msgs, message{kind: "end"})
}

func finishedSet(from pipe.SourceState) map[int]bool {
	done := make(map[int]bool)
	for i := range int(from.Low) {
		done[i] = true
	}
	for _, r := range from.Ahead {
		for i := r[0]; i < r[1]; i++ {
			done[int(i)] = true
		}
	}
	return done
}

// A count is a policy at work.
type count struct {
	policy     pipe.Policy
	seen, lost int
	last       []int
	stage      int
}

func (c *count) over() bool {
	p := c.policy
	byCount := p.Count < 0 || c.lost <= p.Count
	byRate := p.Rate > 0 && (c.seen < p.After || float64(c.lost) <= p.Rate*float64(c.seen))
	return c.lost > 0 && !byCount && !byRate
}

// good counts n items and tells whether the share is exceeded just when enough items were
// seen to judge it.
func (c *count) good(n int) bool {
	was := c.seen
	c.seen += n
	return was < c.policy.After && c.seen >= c.policy.After && c.over()
}

func (c *count) bad(m message) bool {
	c.seen += len(m.ids)
	c.lost += len(m.ids)
	c.last, c.stage = m.ids, m.stage
	return c.over()
}

func (s spec) mapped(k, epoch int, in []message) (out []message) {
	st := s.stages[k]
	policy := s.failures
	if st.own != nil {
		policy = *st.own
	}
	own := count{policy: policy}
	for _, m := range in {
		if m.kind != "item" {
			out = append(out, m)
			if m.kind == "fatal" {
				return out
			}
			continue
		}
		switch s.fate(k, epoch, m.ids[0]) {
		case fine:
			out = append(out, m)
			if st.own != nil && policy.Skip && own.good(1) {
				return append(out, message{kind: "fatal", ids: own.last, stage: k})
			}
		case skips:
			out = append(out, message{kind: "gone", ids: m.ids})
		default:
			lost := message{kind: "lost", ids: m.ids, stage: k, ruled: st.own != nil}
			one := message{ids: m.ids[:1], stage: k}
			if !policy.Skip || st.own != nil && own.bad(one) {
				return append(out, message{kind: "fatal", ids: m.ids, stage: k})
			}
			out = append(out, lost)
		}
	}
	return out
}

func (s spec) batched(st stageSpec, in []message) (out []message) {
	var ids []int
	members := 0
	flush := func() {
		if members > 0 {
			out = append(out, message{kind: "item", ids: ids})
		}
		ids, members = nil, 0
	}
	for _, m := range in {
		if m.kind == "item" {
			ids = append(slices.Clone(ids), m.ids...)
			if members++; members == st.n {
				flush()
			}
			continue
		}
		if m.kind == "end" && !st.dropLast {
			flush()
		}
		out = append(out, m)
	}
	return out
}

func (s spec) consumed(epoch int, from pipe.SourceState, msgs []message) (events []event, failed bool) {
	done := finishedSet(from)
	lost := slices.Clone(from.Lost)
	all := count{policy: s.failures, seen: len(done), lost: len(lost)}
	if len(lost) > 0 {
		all.last, all.stage = []int{int(lost[len(lost)-1])}, -1
	}
	var losses []pipe.Loss
	see := func(e event) {
		e.losses, losses = losses, nil
		e.state = stateOf(epoch, done, lost)
		events = append(events, e)
	}
	fail := func(stage int, ids []int) ([]event, bool) {
		see(event{kind: "error", stage: s.name(stage), epoch: epoch, pos: int64(ids[0])})
		return events, true
	}
	for _, m := range msgs {
		exceeded := false
		switch m.kind {
		case "fatal":
			return fail(m.stage, m.ids)
		case "end":
			done, lost = nil, nil
			epoch++
			see(event{kind: "end"})
			return events, false
		case "lost":
			if !m.ruled && all.bad(m) {
				return fail(m.stage, m.ids)
			}
			exceeded = m.ruled && all.good(len(m.ids))
			for _, id := range m.ids {
				losses = append(losses, pipe.Loss{Stage: s.name(m.stage), Source: "source", Epoch: epoch, Pos: int64(id)})
				lost = append(lost, int64(id))
			}
		default:
			exceeded = all.good(len(m.ids))
		}
		for _, id := range m.ids {
			done[id] = true
		}
		if m.kind == "item" {
			see(event{kind: "item", ids: m.ids})
		}
		if exceeded {
			return fail(all.stage, all.last)
		}
	}
	panic("a model run without an end")
}

func stateOf(epoch int, done map[int]bool, lost []int64) pipe.SourceState {
	s := pipe.SourceState{Epoch: epoch, Lost: slices.Clone(lost)}
	for done[int(s.Low)] {
		s.Low++
	}
	rest := len(done) - int(s.Low)
	for i := s.Low; rest > 0; i++ {
		if !done[int(i)] {
			continue
		}
		rest--
		if n := len(s.Ahead); n > 0 && s.Ahead[n-1][1] == i {
			s.Ahead[n-1][1]++
		} else {
			s.Ahead = append(s.Ahead, [2]int64{i, i + 1})
		}
	}
	return s
}
