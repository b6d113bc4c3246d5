package pipe_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe"
)

// An event is what a consumer sees: an item, the end of an epoch, or the failure, with
// the losses told before it and the state after it.
type event struct {
	kind   string // item, end, error
	v      int
	stage  string // of an error
	epoch  int
	pos    int64
	losses []pipe.Loss
	state  pipe.State
}

func (e event) String() string {
	losses := slices.Clone(e.losses)
	for i := range losses {
		losses[i].Err = nil
	}
	return fmt.Sprintf("%s %v %s/%d/%d losses %v state %+v", e.kind, e.v, e.stage, e.epoch, e.pos, losses, e.state.Sources)
}

// A count is a policy at work.
type count struct {
	policy     pipe.Policy
	seen, lost int
	last       note // that was lost
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

func (c *count) bad(m note, n int) bool {
	c.seen += n
	c.lost += n
	c.last = m
	return c.over()
}

// events is everything that a consumer sees of a sequential chain, from a state on.
func (c chain) events(policy pipe.Policy, from pipe.SourceState, epochs int) (events []event) {
	for last := from.Epoch + epochs; from.Epoch < last; {
		c.done = finishedSet(from)
		seen, failed := c.consumed(policy, from)
		events = append(events, seen...)
		if failed {
			return events
		}
		from = pipe.SourceState{Epoch: from.Epoch + 1}
	}
	return events
}

func finishedSet(from pipe.SourceState) map[int]bool {
	done := make(map[int]bool)
	for _, r := range append([][2]int64{{0, from.Low}}, from.Ahead...) {
		for i := r[0]; i < r[1]; i++ {
			done[int(i)] = true
		}
	}
	return done
}

// consumed is an epoch, under the policy of the run.
func (c chain) consumed(policy pipe.Policy, from pipe.SourceState) (events []event, failed bool) {
	epoch, done, lost := from.Epoch, finishedSet(from), slices.Clone(from.Lost)
	all := count{policy: policy, seen: len(done), lost: len(lost)}
	if len(lost) > 0 {
		all.last = note{from: []place{{c.source.name, int(lost[len(lost)-1])}}, lost: c.source.name}
	}
	var losses []pipe.Loss
	see := func(e event) {
		e.losses, losses = losses, nil
		e.state.Sources = map[string]pipe.SourceState{c.source.name: stateOf(epoch, done, lost)}
		events = append(events, e)
	}
	fail := func(m note) ([]event, bool) {
		see(event{kind: "error", stage: m.lost, epoch: epoch, pos: int64(m.from[0].pos)})
		return events, true
	}
	for _, m := range c.expect(epoch) {
		exceeded := false
		switch {
		case m.fatal:
			return fail(m)
		case m.lost != "":
			if !m.ruled && all.bad(m, len(m.from)) {
				return fail(m)
			}
			exceeded = m.ruled && all.good(len(m.from))
			for _, from := range m.from {
				losses = append(losses, pipe.Loss{Stage: m.lost, Source: from.source, Epoch: epoch, Pos: int64(from.pos)})
				lost = append(lost, int64(from.pos))
			}
		default:
			exceeded = all.good(len(m.from))
		}
		for _, from := range m.from {
			done[from.pos] = true
		}
		if !m.over() {
			see(event{kind: "item", v: m.v})
		}
		if exceeded {
			return fail(all.last)
		}
	}
	done, lost = nil, nil
	epoch++
	see(event{kind: "end"})
	return events, false
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

// sequential draws a chain whose stages keep the order.
func sequential(rt *rapid.T) (*draft, chain) {
	d := newDraft(rt)
	d.sequential = true
	d.failures = d.policy()
	d.changing = rapid.Bool().Draw(rt, "changing")
	d.quick, d.leaving = d.chance("quick", 20), d.chance("leaving", 20)
	return d, d.chain(0)
}

// Random pipelines whose stages all keep order do to the letter what the model does:
// items, losses, states, failure. They may be cut short anywhere, their workers may come
// and go, and they leave nothing after.
func TestE10OrderedPipelinesAreSequential(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		defer pipe.Haste(rt)()
		d, c := sequential(rt)
		cut := rapid.SampledFrom([]int{0, 1, 3, 7, 1000}).Draw(rt, "cut")
		first, epochs := d.number("first epoch", 0, 2), d.number("epochs", 1, 3)
		e := d.every(c)
		f := e.flow(c)
		var got []event
		e.inBubble(t, rt, f, func(found *findings) {
			got, _ = e.run(found, f, pipe.Config{Epoch: first, Epochs: epochs, Failures: d.failures}, cut)
		})
		want := c.events(d.failures, pipe.SourceState{Epoch: first}, epochs)
		compareEvents(rt, want[:min(cut, len(want))], got, f)
	})
}

func compareEvents(rt *rapid.T, want, got []event, f pipe.Flow[int]) {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			rt.Fatalf("event %d: %v, wanted none\n%v", i, got[i], f)
		case i >= len(got):
			rt.Fatalf("event %d: none, wanted %v\n%v", i, want[i], f)
		case want[i].String() != got[i].String():
			rt.Fatalf("event %d:\ngot    %v\nwanted %v\n%v", i, got[i], want[i], f)
		}
		for _, l := range got[i].losses {
			late := (*pipe.LimitError)(nil)
			if !errors.Is(l.Err, errFault) && !errors.As(l.Err, &late) && !contains(l.Err, "without an outcome for its item") {
				rt.Fatalf("event %d: the loss of %d is not its fault: %v", i, l.Pos, l.Err)
			}
		}
	}
}

// A run that is cut anywhere and resumed goes on as the model does from that state: the
// same items in the same batches, the same losses, the same end.
func TestResumeOfRandomPipelines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		defer pipe.Haste(rt)()
		d, c := sequential(rt)
		c.items = min(c.items, 15)
		for i := range c.steps {
			if c.steps[i].own { // a policy of a stage's own counts again after a resume
				c.steps[i].own, c.steps[i].rule = false, d.failures
			}
		}
		const epochs = 2
		whole := c.events(d.failures, pipe.SourceState{}, epochs)
		for i, at := range whole {
			from := at.state.Sources[c.source.name]
			if at.kind == "error" || from.Epoch == epochs {
				continue
			}
			e := d.every(c)
			f := e.flow(c)
			var got []event
			e.inBubble(t, rt, f, func(found *findings) {
				at.state.Version = 1
				got, _ = e.run(found, f, pipe.Config{Resume: at.state, Epochs: epochs - from.Epoch, Failures: d.failures}, 1000)
			})
			if !slices.EqualFunc(whole[i+1:], got, sameItem) {
				rt.Fatalf("resumed from %+v:\ngot    %v\nwanted %v\n%v", from, got, whole[i+1:], f)
			}
		}
	})
}

// sameItem compares what a consumer is given. When which loss is reported is left out:
// after a resume, a loss may come before an item that it came after, because the item is
// made of later ones only. And a state does not say which stage lost an item, or with
// which others.
func sameItem(want, got event) bool {
	blamed := want.stage == got.stage && want.pos == got.pos || len(got.stage) > 6 && got.stage[:6] == "source"
	return want.kind == got.kind && want.v == got.v && want.epoch == got.epoch && blamed
}
