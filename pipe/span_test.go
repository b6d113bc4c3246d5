package pipe_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/pipe/pipetest"
)

// spans are what a hook was reported.
type spans struct {
	mu   sync.Mutex
	all  []pipe.Span
	gaps bool // workers come and go
}

func (s *spans) add(one pipe.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

// check compares the spans with what the same run counts: they add up to its clocks, and
// each worker's follow one another without a gap. After a whole run there is also an
// operation for every item.
func (s *spans) check(t testing.TB, began time.Time, st pipe.Stats, whole bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	clocks := make(map[string][5]time.Duration) // starved, busy, blocked, gated, queued
	items := make(map[string]int64)
	ends := make(map[string]time.Time)
	handed := int64(0)
	for _, one := range s.all {
		who := fmt.Sprint(one.Stage, " ", one.Worker)
		if before, ok := ends[who]; ok && (before.After(one.Begin) || !s.gaps && before.Before(one.Begin)) {
			t.Errorf("%s: a span ends at %v, the next begins at %v: %+v", who, before.Sub(began), one.Begin.Sub(began), one)
		}
		if one.Begin.Before(began) || one.Took < 0 {
			t.Errorf("%s: %+v, the run began at %v", who, one, began)
		}
		ends[who] = one.Begin.Add(one.Took)
		c := clocks[one.Stage]
		switch one.Kind {
		case pipe.Starved:
			c[0] += one.Took
		case pipe.Operation, pipe.Work:
			c[1] += one.Took
			items[one.Stage] += int64(one.Items)
		case pipe.Blocked:
			c[2] += one.Took
		case pipe.Gated:
			c[3] += one.Took
		case pipe.Queued:
			c[4] += one.Took
		case pipe.HandOver:
			handed++
			if one.Items != 1 || one.Stage != "" {
				t.Errorf("%+v", one)
			}
		case pipe.Consuming:
			if one.Stage != "" {
				t.Errorf("%+v", one)
			}
		}
		clocks[one.Stage] = c
	}
	for _, stage := range st.Stages {
		if want := [5]time.Duration{stage.Starved, stage.Busy, stage.Blocked, stage.Gated, stage.Queued + stage.Turn}; clocks[stage.Name] != want {
			t.Errorf("spans of %s (%s) are %v of starving, work, blocking, gating, queueing; its clocks say %v", stage.Name, stage.Kind, clocks[stage.Name], want)
		}
		if slices.Contains([]string{"merge", "join", "branch"}, stage.Kind) {
			continue // they work on nothing
		}
		if n := items[stage.Name]; n > stage.In && stage.Kind != "source" || // which makes again what was finished before a resume
			whole && n < stage.In {
			t.Errorf("spans of %s (%s) have %d items; it took %d", stage.Name, stage.Kind, n, stage.In)
		}
	}
	if handed != st.Yielded || clocks[""][0] != st.Start+st.Waited {
		t.Errorf("spans say that %d items were handed over, after %v; the run says %d, and %v and %v", handed, clocks[""][0], st.Yielded, st.Start, st.Waited)
	}
}

// Spans say where each worker is at what time, and what it works on: item, source, epoch,
// position, failure.
func TestSpansTellTheLifeOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var s spans
		op := func(ctx context.Context, v int) (int, error) {
			pipetest.Sleep(ctx, time.Second)
			switch v % 4 {
			case 1:
				return 0, errBad
			case 2:
				return 0, pipe.Skip
			}
			return 10 * v, nil
		}
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 4}), op, pipe.Opts{Name: "map", Ordered: true})
		f = pipe.Map(f, second, pipe.Opts{Name: "next", Ordered: true, Gate: pipe.NewGate(1)})
		run := start(t, f, pipe.Config{Hooks: pipe.Hooks{Span: s.add}, Epoch: 7, Epochs: 2, Failures: pipe.Policy{Skip: true, Count: -1}})
		for range 2 {
			collect(t, run)
		}
		<-time.After(time.Minute)
		run.Next(t.Context())
		run.Close()
		s.check(t, began, run.Stats(), true)
		var lines []string
		for _, one := range s.all {
			if one.Stage == "map" || one.Stage == "" {
				at := one.Begin.Sub(began)
				lines = append(lines, fmt.Sprintf("%s%d %v %v–%v ×%d %v %s/%d/%d %v", one.Stage, one.Worker, one.Kind, at, at+one.Took, one.Items, one.Item, one.Source, one.Epoch, one.Pos, one.Err))
			}
		}
		for _, want := range []string{
			"map0 operation 0s–1s ×1 0 numbers/7/0 <nil>",
			"map0 operation 1s–2s ×1 1 numbers/7/1 bad",
			"map0 operation 2s–3s ×1 2 numbers/7/2 pipe: skip this item",
			"map0 operation 3s–4s ×1 3 numbers/7/3 <nil>",
			"map0 operation 4s–5s ×1 0 numbers/8/0 <nil>",
			"0 starved 0s–2s ×0 <nil> /0/0 <nil>",
			"0 hand-over 2s–2s ×1 0 numbers/7/0 <nil>",
			"0 consuming 9s–1m9s ×0 <nil> /0/0 <nil>",
		} {
			if !slices.Contains(lines, want) {
				t.Errorf("%q is missing in\n%q", want, lines)
			}
		}
	})
}

// Time that a sequence takes to make an item is not time that it waits.
func TestSpansOfSequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var s spans
		slow := func(ctx context.Context, v int) iter.Seq2[int, error] {
			return func(yield func(int, error) bool) {
				for i := range 10 {
					if pipetest.Sleep(ctx, time.Second) != nil || !yield(i, nil) {
						return
					}
				}
			}
		}
		f := pipe.FlatMap(pipe.From("numbers", pipetest.Numbers{N: 2}), slow, pipe.Opts{Name: "flat", Buffer: 1})
		run := start(t, f, pipe.Config{Hooks: pipe.Hooks{Span: s.add}})
		for range 20 {
			if _, err := run.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(3 * time.Second)
		}
		collect(t, run)
		run.Close()
		s.check(t, began, run.Stats(), true)
		flat := run.Stats().Stages[1]
		if flat.Busy != 20*time.Second || flat.Blocked < 30*time.Second {
			t.Errorf("busy for %v, blocked for %v", flat.Busy, flat.Blocked)
		}
	})
}

// Fast operations are one span together, and none is missing.
func TestSpansOfFastOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where operations that do nothing take no time
		began := time.Now()
		var s spans
		const n = 20_000
		b := pipe.Batch(pipe.Map(pipe.From("numbers", pipetest.Numbers{N: n}), same, pipe.Opts{Name: "map", Buffer: 64}), 100, pipe.BatchOpts{Name: "batch"})
		run := start(t, b, pipe.Config{Hooks: pipe.Hooks{Span: s.add}})
		collect(t, run)
		run.Close()
		s.check(t, began, run.Stats(), true)
		told := 0
		for _, one := range s.all {
			if one.Stage == "map" && one.Kind == pipe.Operation {
				told++
			}
		}
		if told > n/5 {
			t.Errorf("%d spans of %d operations that do nothing", told, n)
		}
	})
}

// A hook that panics ends the run, wherever the span ended, and leaves nothing.
func TestSpanHookPanics(t *testing.T) {
	for kind := pipe.Operation; kind <= pipe.Consuming; kind++ {
		synctest.Test(t, func(t *testing.T) {
			panics := func(s pipe.Span) {
				if s.Kind == kind {
					panic("no")
				}
			}
			gate := pipe.NewGate(1)
			f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 20}), func(ctx context.Context, v int) (int, error) {
				pipe.Worked(ctx, 0)
				return second(ctx, v)
			}, pipe.Opts{Name: "away", OnResize: func(int) {}})
			f = pipe.Map(f, second, pipe.Opts{Name: "map", Workers: 3, Gate: gate})
			b := pipe.Fill(f, 2, plainStore{2}, writeUnless(-1), pipe.FillOpts{Name: "fill", Gate: gate})
			run := start(t, b, pipe.Config{Hooks: pipe.Hooks{Span: panics}, Failures: pipe.Policy{Skip: true, Count: -1}})
			var err error
			for err == nil {
				_, err = run.Next(t.Context())
				<-time.After(time.Second)
			}
			if hook := (*pipe.HookError)(nil); !errors.As(err, &hook) {
				t.Errorf("%v: %v", kind, err)
			}
			if err := run.Close(); err != nil {
				t.Errorf("%v: %v", kind, err)
			}
		})
	}
}

// What a source takes to make an item is its operation.
func TestSpansOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var s spans
		run := start(t, pipe.From("numbers", pipetest.Numbers{N: 3, Every: time.Second}), pipe.Config{Hooks: pipe.Hooks{Span: s.add}})
		collect(t, run)
		run.Close()
		s.check(t, began, run.Stats(), true)
		made := time.Duration(0)
		for _, one := range s.all {
			if one.Stage == "numbers" && one.Kind == pipe.Operation {
				made += one.Took
			}
		}
		if made != 3*time.Second {
			t.Errorf("%v", made)
		}
	})
}

// While nobody wants spans none is told. An operation that goes on when that changes is
// told of with its item.
func TestSpansThatAreWantedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s, always spans
		var wanted atomic.Bool
		begun := make(chan int)
		f := pipe.Map(pipe.From("numbers", pipetest.Numbers{N: 6}), func(_ context.Context, v int) (int, error) {
			begun <- v
			<-time.After(time.Second)
			return v, nil
		}, pipe.Opts{Name: "work", Ordered: true})
		hooks := pipe.Tee(pipe.Hooks{Span: s.add, Spans: wanted.Load}, pipe.Hooks{Span: func(one pipe.Span) {}, Spans: wanted.Load})
		run := start(t, f, pipe.Config{Hooks: hooks, Epochs: 1})
		go func() {
			for v := range begun {
				wanted.Store(v == 2 || v == 3)
			}
		}()
		for {
			if _, err := run.Next(t.Context()); err != nil {
				break
			}
		}
		close(begun)
		_ = run.Close()

		var items []int
		for _, one := range s.all {
			if one.Stage == "work" && one.Kind == pipe.Operation {
				items = append(items, one.Item.(int))
				if one.Took != time.Second {
					t.Errorf("%+v", one)
				}
			}
		}
		if !slices.Equal(items, []int{2, 3}) {
			t.Errorf("operations on %v were told", items)
		}
		if h := pipe.Tee(pipe.Hooks{Span: always.add}, hooks); h.Spans != nil {
			t.Error("one of these hooks always wants spans")
		}
	})
}
