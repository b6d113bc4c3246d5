package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// A hoard is an object with a mind of its own: what it gives depends on everything that
// it was ever given in this epoch. It keeps some of what it is given for later, also of
// what it has given something for, and remembers what it has failed for.
type hoard struct {
	salt  int
	seen  int
	kept  []int
	empty bool // flush gives nothing
}

func (h *hoard) mix(v int) int { return (v*2654435761 + h.salt*40503 + h.seen*97) >> 3 & 0xffff }

// take is given a number. It returns what it makes, and after how many of these it fails;
// negative: it does not.
func (h *hoard) take(v int) (out []int, fails int) {
	h.seen++
	h.kept = append(h.kept, v)
	r := h.mix(v)
	if r%4 == 0 { // gives some of what it has
		n := 1 + r/4%len(h.kept)
		for _, k := range h.kept[:n] {
			out = append(out, 1000*k+h.seen)
		}
		if r%3 == 0 {
			out = append(out, h.seen)
		}
		h.kept = slices.Clone(h.kept[n:])
	}
	if fails = -1; r%7 == 3 {
		fails = len(out)
		if r%2 == 0 {
			fails /= 2
		}
	}
	return out, fails
}

func (h *hoard) flush() (out []int) {
	if !h.empty {
		for _, k := range h.kept {
			out = append(out, 1000*k)
		}
		if h.mix(0)%2 == 0 {
			out = append(out, -h.seen)
		}
	}
	return out
}

func (h *hoard) state() string { return fmt.Sprint(h.seen, h.kept) }

// Resume implements pipe.Resumer.
func (h *hoard) Resume(m pipe.Memory) error {
	fields := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(m.State))
	for i, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil {
			return err
		}
		if i == 0 {
			h.seen = n
		} else {
			h.kept = append(h.kept, n)
		}
	}
	return nil
}

// hoarding is an aggregator of a hoard: what it gives is made of all that came since it
// gave something last.
type hoarding struct {
	hoard
	held []pipe.Held[int]
	last *pipe.Outputs[int, int]
}

func (a *hoarding) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, int]) error {
	a.close()
	a.held = append(a.held, v)
	out, fails := a.take(v.Value)
	if fails >= 0 {
		out = out[:fails]
	}
	a.give(e, out)
	switch {
	case fails < 0:
	case a.last != nil:
		a.last.Lose(errBad)
	default:
		e.Lose(v, errBad)
	}
	return nil
}

func (a *hoarding) give(e *pipe.Emitter[int, int], out []int) {
	for _, v := range out {
		if len(a.held) > 0 {
			a.close()
			a.last, a.held = e.Open(a.held...), nil
		}
		a.last.Emit(v)
	}
}

// close ends what was given last: when there is more, so that what flush gives can be
// made of it.
func (a *hoarding) close() {
	if a.last != nil {
		a.last.Close(a.state())
	}
	a.last = nil
}

func (a *hoarding) Flush(_ context.Context, e *pipe.Emitter[int, int]) error {
	if a.last == nil && len(a.held) == 0 {
		return nil // nothing has come
	}
	a.give(e, a.flush())
	a.close()
	return nil
}

// hoardings makes an aggregator of an epoch.
func hoardings(salt int, empty bool) func() pipe.Aggregator[int, int] {
	return func() pipe.Aggregator[int, int] { return &hoarding{hoard: hoard{salt: salt, empty: empty}} }
}

// hoarded is what a hoard gives of numbers when no engine is there, and which of them it
// fails for.
func hoarded(salt int, empty bool, numbers []int) (out, lost []int) {
	h := hoard{salt: salt, empty: empty}
	for _, v := range numbers {
		some, fails := h.take(v)
		if fails >= 0 {
			some, lost = some[:fails], append(lost, v)
		}
		out = append(out, some...)
	}
	if len(numbers) > 0 {
		out = append(out, h.flush()...)
	}
	return out, lost
}

// An aggregator that keeps what it likes gives what it would give alone, and a run that
// is cut at any of its outputs, or of the batches of them, goes on with it: nothing comes
// twice, nothing is missing, and every loss is reported once, whatever groups the outputs
// are made of, and whatever overtakes after.
func TestAggregatorsWithAMemoryAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(rt, "items")
		salt, empty := rapid.IntRange(0, 50).Draw(rt, "salt"), rapid.Bool().Draw(rt, "empty flush")
		several, drops, twice := rapid.Bool().Draw(rt, "several of one"), rapid.Bool().Draw(rt, "drops some"), rapid.Bool().Draw(rt, "two of them")
		merged, own := rapid.Bool().Draw(rt, "merged"), rapid.Bool().Draw(rt, "own policy")
		size, ordered := rapid.IntRange(0, 5).Draw(rt, "batches"), rapid.Bool().Draw(rt, "ordered after")
		synctest.Test(t, func(t *testing.T) {
			numbers := func(name string, n, add int) (pipe.Flow[int], []int) {
				value := func(_ int, pos int64) int { return int(pos) + add }
				f := pipe.From(name, pipetest.Numbers{N: n, Value: value})
				var all []int
				for i := range n {
					all = append(all, i+add)
				}
				return f, all
			}
			f, want := numbers("numbers", n, 0)
			if drops {
				odd := func(v int) bool { return v%3 != 1 }
				f = pipe.Filter(f, func(_ context.Context, v int) (bool, error) { return odd(v), nil }, pipe.Opts{Name: "filter", Workers: 3, Ordered: true})
				want = slices.DeleteFunc(want, func(v int) bool { return !odd(v) })
			}
			if several {
				f = pipe.FlatMap(f, upwardsFew, pipe.Opts{Name: "many", Workers: 3, Ordered: true})
				var more []int
				for _, v := range want {
					for i := range v % 3 {
						more = append(more, 100*v+i)
					}
				}
				want = more
			}
			var policy *pipe.Policy
			config := pipe.Config{Epochs: 2, Failures: pipe.Policy{Skip: true, Count: -1}}
			if own {
				policy = &pipe.Policy{Skip: true, Count: 1000}
			}
			f = pipe.Aggregate(f, hoardings(salt, empty), pipe.AggregateOpts{Name: "hoard", Failures: policy})
			want, lost := hoarded(salt, empty, want)
			if twice {
				f = pipe.Aggregate(f, hoardings(salt+1, !empty), pipe.AggregateOpts{Name: "hoard again", Failures: policy})
				want, _ = hoarded(salt+1, !empty, want)
			}
			if merged {
				other, some := numbers("other", 15, 500)
				f = pipe.Merge([]pipe.Flow[int]{f, other}, pipe.MergeOpts{Name: "merge", Order: pipe.RoundRobin})
				want = append(want, some...)
			}
			f = pipe.Map(f, restless, pipe.Opts{Name: "map", Workers: 3, Ordered: ordered})
			run := start(t, f, config)
			got := collect(t, run)
			if s := run.Stats(); !twice && !several && stageOf(t, s, "hoard").Lost != int64(len(lost)) {
				t.Errorf("%d are lost, not %d", stageOf(t, s, "hoard").Lost, len(lost))
			}
			run.Close()
			if !ordered || merged {
				slices.Sort(got)
				want = slices.Sorted(slices.Values(want))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v\nthe model says %v", got, want)
			}
			if size == 0 {
				pipetest.Resume(t, f, config, ordered, func(v int) []string { return []string{fmt.Sprint(v)} })
				return
			}
			batches := pipe.Batch(f, size, pipe.BatchOpts{Name: "batch"})
			pipetest.Resume(t, batches, config, ordered, printAll)
		})
	})
}

func stageOf(t *testing.T, s pipe.Stats, name string) pipe.StageStats {
	t.Helper()
	i := slices.IndexFunc(s.Stages, func(s pipe.StageStats) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no stage %s", name)
	}
	return s.Stages[i]
}

// What an aggregator remembers belongs to what is finished, and a state says so.
func TestMemoriesInStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 30}), hoardings(5, false), pipe.AggregateOpts{Name: "hoard"})
		run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
		defer run.Close()
		if s := run.State(); s.Memories != nil {
			t.Errorf("%+v", s)
		}
		memories := map[pipe.Memory]bool{}
		for range 12 {
			if _, err := run.Next(context.Background()); err != nil {
				t.Fatal(err)
			}
			memories[run.State().Memories["hoard"]] = true
		}
		if len(memories) < 4 {
			t.Errorf("%v", memories)
		}
		bad := run.State()
		m := bad.Memories["hoard"]
		for want, memories := range map[string]map[string]pipe.Memory{
			"has a memory of a stage other, and no aggregate has that name": {"hoard": m, "other": m},
			"is not valid: -1 groups of the stage hoard":                    {"hoard": {Groups: -1}},
		} {
			bad.Memories = memories
			if err := f.Fits(bad); !contains(err, want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		bad.Memories = map[string]pipe.Memory{"hoard": {Groups: 3, State: "nonsense"}}
		again := start(t, f, pipe.Config{Resume: bad})
		defer again.Close()
		if _, err := again.Next(context.Background()); !contains(err, "nonsense") {
			t.Error(err)
		}
		forgetful := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 30}), budgets(4), pipe.AggregateOpts{Name: "hoard"})
		third := start(t, forgetful, pipe.Config{Resume: bad})
		defer third.Close()
		if _, err := third.Next(context.Background()); !contains(err, "this aggregator accepts none") {
			t.Error(err)
		}
	})
}

// upwardsFew makes up to two of a number.
func upwardsFew(ctx context.Context, v int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range v % 3 {
			if _, err := restless(ctx, v+3*i); err != nil {
				yield(0, err)
				return
			}
			if !yield(100*v+i, nil) {
				return
			}
		}
	}
}

// misuser does with outputs what cannot be.
type misuser struct{ how string }

func (m *misuser) Add(_ context.Context, v pipe.Held[int], e *pipe.Emitter[int, int]) error {
	switch m.how {
	case "of nothing":
		e.Open().Close("")
	case "not closed":
		e.Open(v).Emit(1)
	case "lost after":
		e.Emit(1, v)
		e.Lose(v, errBad)
	case "twice":
		e.Open(v).Close("")
		e.Open(v).Close("")
	case "fails":
		o := e.Open(v)
		o.Emit(v.Value)
		o.Fail(errBad)
	case "lose":
		e.Lose(v, errBad)
	case "lose in":
		o := e.Open(v)
		o.Emit(v.Value)
		o.Lose(errBad)
		o.Close("")
	}
	return nil
}

func (*misuser) Flush(context.Context, *pipe.Emitter[int, int]) error { return nil }

func TestWhatCannotBeDoneWithOutputs(t *testing.T) {
	for how, want := range map[string]string{
		"of nothing": "outputs that are made of no item",
		"not closed": "outputs that it has not closed",
		"lost after": "an item before it says that this is lost",
		"twice":      "an item that it does not hold",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 1}), func() pipe.Aggregator[int, int] { return &misuser{how: how} }, pipe.AggregateOpts{Name: "a"})
			run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: -1}})
			defer run.Close()
			if _, err := drain(run); !contains(err, want) {
				t.Errorf("%s: %v", how, err)
			}
		})
	}
}

// Under a policy that tolerates nothing, what is lost ends the run, after what was
// handed on.
func TestLossesOfOutputsEndTheRun(t *testing.T) {
	for how, want := range map[string]string{"fails": "[0]", "lose": "[]", "lose in": "[0]"} {
		for _, own := range []*pipe.Policy{nil, {}} {
			synctest.Test(t, func(t *testing.T) {
				f := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 5}), func() pipe.Aggregator[int, int] { return &misuser{how: how} }, pipe.AggregateOpts{Name: "a", Failures: own})
				run := start(t, f, pipe.Config{})
				defer run.Close()
				got, err := drain(run)
				if stage := (*pipe.StageError)(nil); fmt.Sprint(got) != want || !errors.As(err, &stage) || stage.Pos != 0 || !errors.Is(err, errBad) {
					t.Errorf("%s: %v, %v", how, got, err)
				}
			})
		}
		for _, own := range []*pipe.Policy{nil, {Skip: true, Count: 3}} {
			synctest.Test(t, func(t *testing.T) {
				f := pipe.Aggregate(pipe.From("numbers", pipetest.Numbers{N: 5}), func() pipe.Aggregator[int, int] { return &misuser{how: how} }, pipe.AggregateOpts{Name: "a", Failures: own})
				run := start(t, f, pipe.Config{Failures: pipe.Policy{Skip: true, Count: 3}})
				defer run.Close()
				_, err := drain(run)
				if lost := (*pipe.LossError)(nil); !errors.As(err, &lost) || lost.Lost < 4 {
					t.Errorf("%s: %v", how, err)
				}
			})
		}
	}
}
