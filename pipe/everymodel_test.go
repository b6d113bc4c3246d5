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

	"headrace/pipe"
	"headrace/pipe/pipetest"
)

// A note is a message of the model: a number, or the loss of one, and the source items
// that it was made of.
type note struct {
	v    int
	from []string
	lost string // the stage
}

// expect is the model: what a chain yields in an epoch, worked out one item after the
// other.
func (c chain) expect(epoch int) []note {
	var all []note
	if c.inputs == nil {
		number := int(c.source[len(c.source)-1]) + 16*len(c.source)
		for pos := range c.items {
			all = append(all, note{v: numberOf(number, epoch, pos), from: []string{fmt.Sprint(c.source, " ", pos)}})
		}
	} else {
		all = c.expectMerge(epoch)
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
			if m.lost == "" {
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
		return c.expectRoute(in)
	}
	for _, m := range in {
		if m.lost != "" {
			out = append(out, m)
			continue
		}
		all, err := c.made(m.v)
		for _, v := range all {
			out = append(out, note{v: v, from: m.from})
		}
		if err != nil && !errors.Is(err, pipe.Skip) {
			out = append(out, note{from: m.from, lost: c.name})
		}
	}
	if c.kind == "fill" {
		return c.expectLists(out, c.whole)
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
		if m.lost == "" {
			k, err = c.bucket(m.v)
		}
		switch {
		case m.lost != "":
			out = append(out, m)
		case errors.Is(err, pipe.Skip):
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
	if c.kind == "filter" {
		out = v
	}
	return []int{out}, nil
}

// expectLists lets f make something of each batch. What is lost is all of it, and every
// other number is that of its element.
func (c construct) expectLists(in []note, make func([]note) []note) (out []note) {
	var list []note
	f := func(list []note) (all []note) {
		var from []string
		for _, m := range list {
			from = append(from, m.from...)
		}
		for _, m := range make(list) {
			if m.lost != "" {
				m.from = from
			}
			all = append(all, m)
		}
		return all
	}
	for _, m := range in {
		if m.lost != "" {
			out = append(out, m)
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
				if m.lost == "" && c.picks(m.v, len(c.branches)) == k {
					part = append(part, m)
				}
			}
			out = append(out, expectSteps(steps, part)...)
		}
		for _, m := range in {
			if m.lost != "" {
				out = append(out, m)
			}
		}
		return out
	}
	for _, m := range in {
		if m.lost != "" {
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

func (c chain) account(epochs int) account {
	a := account{yields: make([][]int, epochs), lost: make(map[string]bool)}
	for epoch := range epochs {
		for _, m := range c.expect(epoch) {
			if m.lost == "" {
				a.yields[epoch] = append(a.yields[epoch], m.v)
				continue
			}
			for _, from := range m.from {
				a.lost[fmt.Sprint(epoch, " ", m.lost, " ", from)] = true
			}
		}
	}
	return a
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

// read lets a run go on for so many items, and tells where it is then.
func (e *every) read(t testing.TB, f pipe.Flow[int], at pipe.State, epochs, items int, a *account) (pipe.State, bool) {
	epoch := 0
	for _, s := range at.Sources {
		epoch = s.Epoch
	}
	told := spans{gaps: len(e.changeable) > 0}
	began := time.Now()
	hooks := pipe.Hooks{Lost: func(l pipe.Loss) { a.lost[fmt.Sprintf("%d %s %s %d", l.Epoch, l.Stage, l.Source, l.Pos)] = true }}
	if e.traced {
		hooks.Span = told.add
	}
	run, err := pipe.Start(context.Background(), f, pipe.Config{
		Resume: at, Epochs: epochs - epoch, Failures: pipe.Policy{Skip: true, Count: -1}, Hooks: hooks,
	})
	if err != nil {
		t.Error(err)
		return at, true
	}
	over := false
	defer func() {
		run.Close()
		if e.traced {
			told.check(t, began, run.Stats(), over)
		}
	}()
	if len(e.changeable) > 0 {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go e.changeWorkers(ctx, t, run)
	}
	for ; items > 0; items-- {
		v, err := run.Next(context.Background())
		switch {
		case err == io.EOF:
			epoch++
		case err == pipe.ErrDone:
			over = true
			return at, true
		case err != nil:
			t.Error(err)
			return at, true
		default:
			a.yields[epoch] = append(a.yields[epoch], v)
			e.Gone(v)
		}
	}
	return run.State(), epoch == epochs
}

// changeWorkers changes numbers of workers until it is stopped, or enough is enough: then
// a run that stands still is noticed.
func (e *every) changeWorkers(ctx context.Context, t testing.TB, run *pipe.Run[int]) {
	random := rand.New(rand.NewPCG(e.seed, uint64(len(e.changeable))))
	for range 300 {
		if pipetest.Sleep(ctx, time.Duration(random.IntN(4))*time.Millisecond) != nil {
			return
		}
		name := e.changeable[random.IntN(len(e.changeable))]
		if err := run.SetWorkers(name, 1+random.IntN(5)); err != nil && err != pipe.ErrClosed {
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
		for _, branch := range s.branches {
			names = append(names, changeable(branch)...)
		}
	}
	return names
}

// Random definitions of all constructs yield what a sequential model says, each item once
// and in its order where that is kept, tell each loss with its stage and source items,
// and leave nothing, wherever they are cut; resumed there, as often as it takes, they
// yield the rest.
func TestAllConstructsFollowTheModel(t *testing.T) {
	for round := range modelRounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { followTheModel(t, rt, false) }) })
	}
}

// The same, while the numbers of workers change all the time.
func TestAllConstructsFollowTheModelWithChangingWorkers(t *testing.T) {
	for round := range modelRounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { followTheModel(t, rt, true) }) })
	}
}

func followTheModel(t *testing.T, rt *rapid.T, changing bool) {
	defer pipe.Haste(rt)()
	d := &draft{T: rt, exact: true, changing: changing}
	c := d.chain(2)
	cut := rapid.SampledFrom([]int{1, 2, 5, 9, 1000, 1000}).Draw(rt, "cut")
	e := every{traced: rapid.Bool().Draw(rt, "traced")}
	if changing {
		e.changeable, e.seed = c.changeable(), rapid.Uint64().Draw(rt, "changes")
	}
	f := e.flow(c)
	if err := f.Check(); err != nil {
		rt.Fatalf("%v\n%v", err, f)
	}
	const epochs = 2
	got := account{yields: make([][]int, epochs), lost: make(map[string]bool)}
	over := false
	found := &findings{TB: t}
	synctest.Test(t, func(*testing.T) {
		defer func() { <-time.After(time.Hour) }() // for operations that were abandoned
		for state := (pipe.State{}); !over && found.message == ""; {
			state, over = e.read(found, f, state, epochs, cut, &got)
			if !d.exact {
				break // a batch that is cut is another one afterwards
			}
		}
	})
	if found.message != "" {
		rt.Fatalf("exact %v, cut %d: %s\n%v", d.exact, cut, found.message, f)
	}
	if diff := c.account(epochs).diff(got, d.exact, d.loose); diff != "" && over {
		rt.Fatalf("exact %v, cut %d: %s\n%v", d.exact, cut, diff, f)
	}
	if faults := e.Faults(); len(faults) > 0 {
		rt.Fatalf("cut %d: %s\n%v", cut, strings.Join(faults, "; "), f)
	}
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
	d := &draft{T: rt, exact: true, more: []string{"weights"}, sure: true}
	c := d.chain(2)
	end := d.construct(rapid.SampledFrom([]string{"", "batch", "buckets", "fill"}).Draw(rt, "end"))
	d.exact = d.exact && (end.kind != "fill" || end.ordered || end.workers == 1 && end.around != "limit")
	end.dropLast = end.dropLast && d.exact
	var e every
	f := e.ending(e.flow(c), end)
	found := &findings{TB: t}
	synctest.Test(t, func(*testing.T) {
		defer func() {
			<-time.After(time.Hour) // operations that were abandoned
			if p := recover(); p != nil && p != any(found) {
				panic(p)
			}
		}()
		pipetest.Resume(found, f, pipe.Config{Epochs: 2, Failures: pipe.Policy{Skip: true, Count: -1}}, d.exact, func(all []int) []string {
			e.list(all)
			return printAll(all)
		})
	})
	if found.message != "" {
		rt.Fatalf("exact %v: %s\n%v", d.exact, found.message, f)
	}
	if faults := e.Faults(); len(faults) > 0 {
		rt.Fatalf("%s\n%v", strings.Join(faults, "; "), f)
	}
}

// ending puts numbers together, in a way that nobody takes apart again.
func (e *every) ending(f pipe.Flow[int], c construct) pipe.Flow[[]int] {
	lists := func(f pipe.Flow[*rows]) pipe.Flow[[]int] { return pipe.Map(f, rowsOf, pipe.Opts{Name: "end"}) }
	switch c.kind {
	case "batch":
		return pipe.Batch(f, c.n, pipe.BatchOpts{Name: c.name, DropLast: c.dropLast})
	case "buckets":
		begin := func() pipe.Aggregator[int, []int] { return &sorter{construct: c, e: e} }
		return pipe.Discard(pipe.Aggregate(f, begin, pipe.AggregateOpts{Name: c.name, DropLast: c.dropLast}), e.list)
	case "fill":
		return pipe.Discard(lists(pipe.Fill(f, c.n, rowStore{e, c.n}, e.write(c), c.fillOpts())), e.list)
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
