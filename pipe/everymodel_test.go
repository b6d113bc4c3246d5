package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A note is a message of the model: a number, or the end of one, and the source items
// that it was made of.
type note struct {
	v     int
	from  []place
	gone  bool   // it was not needed
	lost  string // the stage
	ruled bool   // a policy of the stage's own has judged the loss
	fatal bool   // the run ends with it
}

type place struct {
	source string
	pos    int
}

// over tells whether the next stages have nothing to do with it.
func (m note) over() bool { return m.gone || m.lost != "" }

// expect is the model: what a chain yields in an epoch, worked out one item after the
// other.
func (c chain) expect(epoch int) []note {
	var all []note
	if c.inputs != nil {
		return expectSteps(c.steps, c.expectMerge(epoch))
	}
	for pos := range c.items {
		if c.done[pos] {
			continue
		}
		m := note{v: c.number(epoch, pos), from: []place{{c.source.name, pos}}}
		if c.source.fails(m.v) {
			m.lost, m.fatal = c.source.name, !c.source.rule.Skip
		}
		if all = append(all, m); m.fatal {
			break
		}
	}
	return expectSteps(c.steps, all)
}

func (c chain) expectMerge(epoch int) (all []note) {
	inputs := make([][]note, len(c.inputs))
	for i, in := range c.inputs {
		inputs[i] = in.expect(epoch)
	}
	over := make([]bool, len(inputs))
	own := c.merge.pickTurn(len(inputs))
	for turn := int64(0); slices.Contains(over, false); turn++ {
		at := int(turn) % len(inputs)
		if c.merge.turns == "own" {
			at = own(epoch, turn)
		}
		if at < 0 {
			return all
		}
		for !over[at] {
			if len(inputs[at]) == 0 {
				if over[at] = true; c.merge.short {
					return all
				}
				break
			}
			m := inputs[at][0]
			all, inputs[at] = append(all, m), inputs[at][1:]
			if !m.over() {
				break
			}
		}
	}
	return all
}

func expectSteps(steps []construct, all []note) []note {
	for _, s := range steps {
		all = s.expect(all)
	}
	return all
}

func (c construct) expect(in []note) (out []note) {
	switch c.kind {
	case "aggregate", "batch":
		return c.expectLists(in, c.whole)
	case "buckets":
		return c.expectBuckets(in, func(list []note) []note { return list })
	case "groups":
		return c.expectBuckets(in, c.expectGroup)
	case "divide":
		return c.expectLists(in, c.expectParts)
	case "route":
		return c.expectRoute(c.expectOperation(in))
	case "nested":
		c.n *= 2 // losses pass two batches
		return c.expectLists(in, c.whole)
	}
	out = c.expectOperation(in)
	if c.kind == "fill" {
		return c.expectLists(out, c.whole)
	}
	return out
}

func (c construct) expectOperation(in []note) (out []note) {
	judge := count{policy: c.rule}
	for _, m := range in {
		if m.over() {
			out = append(out, m)
			continue
		}
		all, err := c.made(m.v)
		for _, v := range all {
			out = append(out, note{v: v, from: m.from})
		}
		end := note{from: m.from}
		switch {
		case err == nil:
			if !c.own || !judge.good(1) {
				continue
			}
			end.lost, end.fatal, end.from = c.name, true, judge.last.from
		case errors.Is(err, pipe.Skip):
			end.gone = true
		default:
			end.lost, end.ruled = c.name, c.own
			end.fatal = !c.rule.Skip || c.leaves && c.flaw(m.v) == explosive || c.own && judge.bad(end, 1)
		}
		if out = append(out, end); end.fatal {
			break
		}
	}
	return out
}

// whole leaves out the last batch, where that is wanted.
func (c construct) whole(list []note) []note {
	if len(list) < c.n && c.dropLast {
		return nil
	}
	return list
}

// expectBuckets lets f make something of each bucket.
func (c construct) expectBuckets(in []note, make func([]note) []note) (out []note) {
	var held [3][]note
	flush := func(k int) {
		out = append(out, make(held[k])...)
		held[k] = nil
	}
	for _, m := range in {
		k, err := 0, error(nil)
		if !m.over() {
			k, err = c.bucket(m.v)
		}
		switch {
		case m.over():
			out = append(out, m)
		case errors.Is(err, pipe.Skip):
			out = append(out, note{from: m.from, gone: true})
		case err != nil:
			out = append(out, note{from: m.from, lost: c.name})
		default:
			if held[k] = append(held[k], m); len(held[k]) == c.n {
				flush(k)
			}
		}
	}
	for k := range held {
		if !c.dropLast {
			flush(k)
		}
	}
	return out
}

// expectGroup is a bucket that is filled.
func (c construct) expectGroup(list []note) (out []note) {
	for _, m := range list {
		made, err := c.made(m.v)
		if err != nil && !errors.Is(err, pipe.Skip) {
			out = append(out, note{from: m.from, lost: c.name})
		}
		for _, v := range made {
			out = append(out, note{v: v, from: m.from})
		}
	}
	return out
}

// made is what an operation makes of a number.
func (c construct) made(v int) ([]int, error) {
	switch c.kind {
	case "flat":
		return c.children(v)
	case "fill", "groups":
		c.around = ""
	}
	out, err := c.becomes(v)
	if err != nil {
		return nil, err
	}
	if c.kind == "filter" || c.kind == "route" {
		out = v
	}
	return []int{out}, nil
}

// expectLists lets f make something of each batch. What is lost is all of it, and every
// other number is that of its element, or one number is that of all.
func (c construct) expectLists(in []note, make func([]note) []note) (out []note) {
	var list []note
	f := func(list []note) (all []note) {
		var from []place
		var numbers []int
		for _, m := range list {
			from, numbers = append(from, m.from...), append(numbers, m.v)
		}
		list = make(list)
		if c.joined && len(list) > 0 {
			list = []note{{v: joined(numbers), from: from}}
		}
		for _, m := range list {
			if m.over() {
				m.from = from
			}
			all = append(all, m)
		}
		return all
	}
	for _, m := range in {
		if m.over() {
			if out = append(out, m); m.fatal {
				return out
			}
			continue
		}
		if list = append(list, m); len(list) == c.n {
			out, list = append(out, f(list)...), nil
		}
	}
	return append(out, f(list)...)
}

func (c construct) expectParts(list []note) (out []note) {
	var parts [2][]note
	for _, m := range list {
		if c.fails(m.v) {
			return []note{{lost: c.name}}
		}
		k := c.picks(m.v, 2)
		parts[k] = append(parts[k], m)
	}
	for k, part := range parts {
		var numbers []int
		for _, m := range part {
			numbers = append(numbers, m.v)
		}
		if numbers == nil {
			continue
		}
		kept, err := c.part(k, numbers)
		if err == errFault {
			return []note{{lost: fmt.Sprint(c.name, " branch ", k)}}
		}
		out = append(out, part[:len(kept)]...)
	}
	return out
}

// expectRoute is in the order of the input. Where none is kept, nobody asks for it.
func (c construct) expectRoute(in []note) (out []note) {
	if len(c.branches) == 1 {
		return expectSteps(c.branches[0], in)
	}
	if !c.ordered {
		for k, steps := range c.branches {
			var part []note
			for _, m := range in {
				if !m.over() && c.picks(m.v, len(c.branches)) == k {
					part = append(part, m)
				}
			}
			out = append(out, expectSteps(steps, part)...)
		}
		for _, m := range in {
			if m.over() {
				out = append(out, m)
			}
		}
		return out
	}
	for _, m := range in {
		if m.over() {
			out = append(out, m)
			continue
		}
		out = append(out, expectSteps(c.branches[c.picks(m.v, len(c.branches))], []note{m})...)
	}
	return out
}

// An account is what a consumer was given, epoch by epoch, and what it was asked to be
// lost.
type account struct {
	yields [][]int
	lost   map[string]bool
}

func newAccount(epochs int) account {
	return account{yields: make([][]int, epochs), lost: make(map[string]bool)}
}

func (a account) lose(epoch int, stage, source string, pos int) {
	a.lost[fmt.Sprint(epoch, " ", stage, " ", source, " ", pos)] = true
}

func (c chain) account(epochs int) account {
	a := newAccount(epochs)
	for epoch := range epochs {
		for _, m := range c.expect(epoch) {
			if !m.over() {
				a.yields[epoch] = append(a.yields[epoch], m.v)
			}
			for _, from := range m.from {
				if m.lost != "" {
					a.lose(epoch, m.lost, from.source, from.pos)
				}
			}
		}
	}
	return a
}

// add counts what a run has yielded.
func (a account) add(epoch int, events []event) {
	for _, e := range events {
		for _, l := range e.losses {
			a.lose(l.Epoch, l.Stage, l.Source, int(l.Pos))
		}
		switch e.kind {
		case "item":
			a.yields[epoch] = append(a.yields[epoch], e.v)
		case "end":
			epoch++
		}
	}
}

// diff compares. Of groups that are not finished when a loose epoch ends, losses need not
// be reported.
func (a account) diff(got account, exact, loose bool) string {
	for epoch := range a.yields {
		want, have := slices.Clone(a.yields[epoch]), slices.Clone(got.yields[epoch])
		if !exact {
			slices.Sort(want)
			slices.Sort(have)
		}
		if !slices.Equal(want, have) {
			return fmt.Sprintf("epoch %d: %v, not %v", epoch, have, want)
		}
	}
	if !exact { // then which items a batch is made of is another thing each time
		return ""
	}
	for l := range a.lost {
		if !got.lost[l] && !(loose && strings.Contains(l, " groups")) {
			return "not told to be lost: " + l
		}
	}
	for l := range got.lost {
		if !a.lost[l] && !(loose && strings.Contains(l, " groups")) {
			return "told to be lost: " + l
		}
	}
	return ""
}

// run lets a run go on for so many events, and ends it.
func (e *every) run(t testing.TB, f pipe.Flow[int], c pipe.Config, cut int) (events []event, over bool) {
	told := spans{gaps: len(e.changeable) > 0}
	began := time.Now()
	var losses []pipe.Loss
	c.Hooks.Lost = func(l pipe.Loss) { losses = append(losses, l) }
	if e.traced {
		c.Hooks.Span = told.add
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	run, err := pipe.Start(ctx, f, c)
	if err != nil {
		t.Error(err)
		return nil, true
	}
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		e.changeWorkers(ctx, t, run)
	}()
	for !over && len(events) < cut {
		var one event
		if one, over = e.see(t, run); one.kind == "" {
			break
		}
		one.losses, losses = losses, nil
		events = append(events, one)
	}
	if e.cancels {
		stop()
	}
	e.end(t, run)
	stop()
	<-changed
	if e.traced {
		told.check(t, began, run.Stats(), over && !e.cancels)
	}
	return events, over
}

// see waits for one event; over is true with the last.
func (e *every) see(t testing.TB, run *pipe.Run[int]) (one event, over bool) {
	v, err := run.Next(context.Background())
	failure := (*pipe.StageError)(nil)
	switch {
	case err == nil:
		one = event{kind: "item", v: v}
		e.Gone(v)
	case err == io.EOF:
		one = event{kind: "end"}
	case errors.As(err, &failure):
		one, over = event{kind: "error", stage: failure.Stage, epoch: failure.Epoch, pos: failure.Pos}, true
		if _, again := run.Next(context.Background()); again != err {
			t.Errorf("the failure %v is followed by %v", err, again)
		}
	case err == pipe.ErrDone:
		return event{}, true
	default:
		t.Errorf("next: %v", err)
		return event{}, true
	}
	one.state = run.State()
	return one, over
}

// end takes what was ready when a run was cancelled, and closes it. Operations that were
// abandoned are waited for.
func (e *every) end(t testing.TB, run *pipe.Run[int]) {
	for e.cancels {
		v, err := run.Next(context.Background())
		if err != nil && err != io.EOF {
			break
		}
		if err == nil {
			e.Gone(v)
		}
	}
	if busy := (*pipe.BusyError)(nil); errors.As(run.Close(), &busy) {
		<-time.After(time.Hour)
	}
	if err := run.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// changeWorkers changes numbers of workers until it is stopped, or enough is enough: then
// a run that stands still is noticed.
func (e *every) changeWorkers(ctx context.Context, t testing.TB, run *pipe.Run[int]) {
	if len(e.changeable) == 0 {
		return
	}
	random := rand.New(rand.NewPCG(e.seed, uint64(len(e.changeable))))
	for range 300 {
		if pipetest.Sleep(ctx, time.Duration(random.IntN(4))*time.Millisecond) != nil {
			return
		}
		name, n := e.changeable[random.IntN(len(e.changeable))], 1+random.IntN(5)
		e.allow(name, n)
		if err := run.SetWorkers(name, n); err != nil && err != pipe.ErrClosed {
			t.Error(err)
		}
	}
}

// changeable are the stages whose number of workers may change without a change of what
// the model says.
func (c chain) changeable() (names []string) {
	for _, in := range c.inputs {
		names = append(names, in.changeable()...)
	}
	return append(names, changeable(c.steps)...)
}

func changeable(steps []construct) (names []string) {
	for _, s := range steps {
		switch s.kind {
		case "map", "with", "filter", "flat", "fill":
			names = append(names, s.name)
		case "divide":
			names = append(names, s.name+" branch 0", s.name+" branch 1")
		}
		if s.joined {
			names = append(names, s.name+" joined")
		}
		for _, branch := range s.branches {
			names = append(names, changeable(branch)...)
		}
	}
	return names
}

// Random definitions of all constructs yield what a sequential model says, each item once
// and in its order where that is kept, tell each loss with its stage and source items,
// and leave nothing, wherever they are cut; resumed there, as often as it takes, they
// yield the rest. In some, the numbers of workers change all the time.
func TestAllConstructsFollowTheModel(t *testing.T) {
	for round := range modelRounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { followTheModel(t, rt) }) })
	}
}

func followTheModel(t *testing.T, rt *rapid.T) {
	defer pipe.Haste(rt)()
	d := newDraft(rt)
	d.changing = rapid.Bool().Draw(rt, "changing")
	if d.mortal = d.chance("mortal", 30); d.mortal {
		d.more = []string{"arrival", "weights"}
		if d.leaving = d.chance("leaving", 50); !d.leaving {
			d.failures = pipe.Policy{}
		}
	}
	c := d.chain(2)
	cut := rapid.SampledFrom([]int{1, 2, 5, 9, 1000, 1000}).Draw(rt, "cut")
	e := d.every(c)
	f := e.flow(c)
	if err := f.Check(); err != nil {
		rt.Fatalf("%v\n%v", err, f)
	}
	const epochs = 2
	got := newAccount(epochs)
	over := false
	e.inBubble(t, rt, f, func(found *findings) {
		for epoch, at := 0, (pipe.State{}); !over && epoch < epochs && found.message == ""; {
			var events []event
			events, over = e.run(found, f, pipe.Config{Resume: at, Epochs: epochs - epoch, Failures: d.failures}, cut)
			got.add(epoch, events)
			if !d.exact || d.mortal && over {
				break // a batch that is cut is another one afterwards
			}
			if len(events) > 0 {
				at = events[len(events)-1].state
			}
			for _, s := range at.Sources {
				epoch = s.Epoch
			}
			over = over || epoch == epochs
		}
	})
	if d.mortal { // then it is known what comes before a failure
		survived := c.with(func(s *construct, _ bool) { s.rule, s.leaves = anything, false })
		want, all := slices.Concat(survived.account(epochs).yields...), slices.Concat(got.yields...)
		if d.exact && c.inputs == nil && !slices.Equal(all, want[:min(len(all), len(want))]) {
			rt.Fatalf("cut %d: %v, not the beginning of %v\n%v", cut, all, want, f)
		}
		return
	}
	if diff := c.account(epochs).diff(got, d.exact, d.loose); diff != "" && over {
		rt.Fatalf("exact %v, cut %d: %s\n%v", d.exact, cut, diff, f)
	}
}

// every draws how a definition is run.
func (d *draft) every(c chain) *every {
	e := newEvery(d.number("permits", 1, 3))
	e.traced, e.cancels = rapid.Bool().Draw(d.T, "traced"), rapid.Bool().Draw(d.T, "cancels")
	if d.changing {
		e.changeable, e.seed = c.changeable(), rapid.Uint64().Draw(d.T, "changes")
	}
	return e
}

// inBubble runs a test of a flow, and fails with what it has found.
func (e *every) inBubble(t *testing.T, rt *rapid.T, f fmt.Stringer, test func(*findings)) {
	if found := inBubble(t, test); found != "" {
		rt.Fatalf("%s\n%v", found, f)
	}
	if faults := e.Faults(); len(faults) > 0 {
		rt.Fatalf("%s\n%v", strings.Join(faults, "; "), f)
	}
}

// inBubble returns what a test has found first.
func inBubble(t *testing.T, test func(*findings)) string {
	found := &findings{TB: t}
	synctest.Test(t, func(*testing.T) {
		defer func() {
			<-time.After(time.Hour) // operations that were abandoned
			if p := recover(); p != nil && p != any(found) {
				panic(p)
			}
		}()
		test(found)
	})
	return found.message
}

// Random definitions of all constructs go on in the same way wherever they are cut:
// restored at every item of a run they yield what it yielded after that, with the same
// losses, or, where no order is kept, every item that had not come once.
func TestAllConstructsResumeAnywhere(t *testing.T) {
	for round := range 1 + modelRounds/10 {
		t.Run(fmt.Sprint(round), func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { resumeAnywhere(t, rt) }) })
	}
}

func resumeAnywhere(t *testing.T, rt *rapid.T) {
	d := newDraft(rt)
	d.more, d.sure = []string{"weights"}, true
	c := d.chain(2)
	end := d.construct(rapid.SampledFrom([]string{"", "batch", "buckets", "fill"}).Draw(rt, "end"))
	end.gated, end.runs, end.room = false, false, 0
	d.exact = d.exact && (end.kind != "fill" || end.ordered || end.workers == 1 && end.around != "limit")
	end.dropLast = end.dropLast && d.exact
	e := newEvery(d.number("permits", 1, 3))
	f := e.ending(e.flow(c), end)
	e.inBubble(t, rt, f, func(found *findings) {
		pipetest.Resume(found, f, pipe.Config{Epochs: 2, Failures: anything}, d.exact, func(all []int) []string {
			e.list(all)
			return printAll(all)
		})
	})
}

// ending puts numbers together, in a way that nobody takes apart again.
func (e *every) ending(f pipe.Flow[int], c construct) pipe.Flow[[]int] {
	switch c.kind {
	case "batch":
		return pipe.Batch(f, c.n, pipe.BatchOpts{Name: c.name, DropLast: c.dropLast})
	case "buckets":
		begin := func() pipe.Aggregator[int, []int] { return &sorter{construct: c, e: e} }
		return pipe.Discard(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name, DropLast: c.dropLast}), e.list)
	case "fill":
		return pipe.Discard(e.fill(f, c), e.list)
	}
	return pipe.Discard(pipe.Map(f, func(_ context.Context, v int) ([]int, error) { return []int{v}, nil }, pipe.Opts{Name: "end"}), e.list)
}

// findings is a testing.TB that keeps the first message, so that the definition can be
// made smaller.
type findings struct {
	testing.TB
	mu      sync.Mutex
	message string
}

func (f *findings) Helper() {}

func (f *findings) note(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.message == "" {
		f.message = message
	}
}

func (f *findings) Error(args ...any) { f.note(fmt.Sprint(args...)) }

func (f *findings) Errorf(format string, args ...any) { f.note(fmt.Sprintf(format, args...)) }

func (f *findings) Fatalf(format string, args ...any) {
	f.note(fmt.Sprintf(format, args...))
	panic(f)
}
