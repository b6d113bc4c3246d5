//go:build !headrace_debug

package compile_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/arena"
	"github.com/headrace/headrace/budget"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/compile"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/op/custom"
	"github.com/headrace/headrace/op/flow"
	"github.com/headrace/headrace/op/input"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/recipe/fuse"
	"pgregory.net/rapid"
)

// fatal is what tests and random tests have in common.
type fatal interface {
	Helper()
	Fatal(...any)
	Cleanup(func())
	Context() context.Context
}

// start runs a recipe of toy sources without a loader.
func start(t fatal, r recipe.Recipe, c pipe.Config, from ...*squares) (*compile.Program, *pipe.Run[*batch.Batch]) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	schema, err := r.Check()
	must(err)
	plan, err := fuse.Fuse(r)
	must(err)

	bytes, gate := budget.New(1<<20), pipe.NewGate(2)
	env := &core.Env{Gate: gate}
	target := compile.Target{
		Env: env, Lane: bytes.Lane(), Policies: core.Policies{OnError: core.Raise, Sources: len(from)}, Gate: gate,
		Workers: 2, Readers: 2, Prefetch: 1, InOrder: true,
		Part: func(samples int64) order.Split { return order.Split{Samples: samples, Batch: 1, World: 1} },
	}
	for _, own := range from {
		l := &source.Listing{
			Source:   record.Source{Name: own.name, Lane: bytes.Lane(), Key: own.Key, Samples: own.n},
			Contents: own, Split: order.Split{Samples: own.n, Batch: 1, World: 1},
		}
		l.Begin(0, nil, nil)
		target.Sources = append(target.Sources, l)
	}
	for p := &plan; p != nil; p = p.Samples.Batches {
		if p != &plan {
			schema = p.Rows
		}
		layout, err := batch.NewLayout(schema, batch.Size{Rows: p.Batch.Size})
		must(err)
		slots := &batch.Slots{Layout: &layout, Lane: bytes.Lane(), Memory: &env.Memory} // a later stage takes them
		if p == &plan {
			slots = &batch.Slots{Layout: &layout}
			slots.Arena, err = arena.New(arena.Options{Slots: 4, SlotBytes: layout.Bytes})
			must(err)
			t.Cleanup(func() { slots.Arena.Close() })
		}
		target.Sections = slices.Insert(target.Sections, 0, compile.Section{Layout: &layout, Slots: slots, Rows: p.Batch.Size})
	}
	program, err := compile.Compile(plan, target)
	must(err)
	env.Begin(0, nil, nil)
	run, err := pipe.Start(t.Context(), program.Flow, c)
	must(err)
	t.Cleanup(func() {
		if err := run.Close(); err != nil || bytes.Stats().Used != 0 {
			t.Fatal(fmt.Sprint(err, ", and ", bytes.Stats().Used, " bytes are held"))
		}
	})
	return program, run
}

// Operations on what parse makes.
type (
	negate   struct{}
	leaveOut struct{} // of every third
	number   struct {
		Number int64 `field:"number"`
	}
)

func (*negate) Do(_ context.Context, in number) (number, error) { return number{-in.Number}, nil }

func (*leaveOut) Do(_ context.Context, in number) (number, error) {
	if in.Number%3 == 0 {
		return in, pipe.Skip
	}
	return in, nil
}

func init() {
	for name, op := range map[string]custom.Operation[number, number]{"negate": new(negate), "leave_out": new(leaveOut)} {
		if err := custom.Register(name, "Of numbers.", func() custom.Operation[number, number] { return op }); err != nil {
			panic(err)
		}
	}
}

// model is a recipe with the batches that it makes.
type model struct {
	*rapid.T
	from  []*squares
	drops bool
}

// source draws squares, of one source or of several in turns.
func (m *model) source(deep int) (recipe.Chain, []int64) {
	if deep == 0 || rapid.Bool().Draw(m.T, "one source") {
		own := &squares{name: fmt.Sprint("source", len(m.from)), n: rapid.Int64Range(0, 9).Draw(m.T, "samples")}
		m.from = append(m.from, own)
		var all []int64
		for i := range own.n {
			all = append(all, i*i)
		}
		steps, all := m.numbers(all, 1)
		return append(recipe.Chain{{Name: own.name, Args: &input.Files{Paths: []recipe.Path{"not read"}}}, {Op: "parse"}}, steps...), all
	}

	merge := &flow.Merge{Until: rapid.SampledFrom([]recipe.Until{"", "shortest", "longest", "5"}).Draw(m.T, "until")}
	var lists [][]int64
	for range rapid.IntRange(1, 3).Draw(m.T, "chains") {
		chain, list := m.source(deep - 1)
		merge.Of, lists = append(merge.Of, chain), append(lists, list)
	}
	var all []int64
	for turn := 0; slices.ContainsFunc(lists, func(l []int64) bool { return len(l) > 0 }); turn++ {
		of := &lists[turn%len(lists)]
		if len(*of) == 0 {
			if merge.Until == "shortest" {
				break
			}
			continue
		}
		all, *of = append(all, (*of)[0]), (*of)[1:]
	}
	if merge.Until == "5" {
		all = all[:min(5, len(all))]
	}
	return recipe.Chain{{Args: merge}}, all
}

// numbers draws what happens to numbers, and at most so many routes inside each other.
func (m *model) numbers(in []int64, deep int) (steps recipe.Chain, out []int64) {
	out = in
	for range rapid.IntRange(0, 2).Draw(m.T, "steps") {
		switch rapid.SampledFrom([]string{"negate", "leave_out", "route"}).Draw(m.T, "step") {
		case "negate":
			steps, out = append(steps, recipe.Step{Op: "negate"}), negated(out)
		case "leave_out":
			m.drops = true
			steps = append(steps, recipe.Step{Op: "leave_out"})
			out = slices.DeleteFunc(slices.Clone(out), func(n int64) bool { return n%3 == 0 })
		case "route":
			if deep == 0 {
				continue
			}
			zero := flow.Branch{When: []recipe.When{{Number: new(int64(0))}, {Number: new(int64(-4))}},
				Steps: recipe.Chain{{Op: "negate"}}}
			others, _ := m.numbers(nil, 0)
			steps = append(steps, recipe.Step{Args: &flow.Route{By: "number", Branches: []flow.Branch{zero, {Steps: others}}}})
			var next []int64
			for _, n := range out {
				switch one := []int64{n}; {
				case n == 0 || n == -4:
					next = append(next, -n)
				default:
					for _, s := range others {
						if s.Op == "negate" {
							one = negated(one)
						} else if n%3 == 0 {
							one = nil
						}
					}
					next = append(next, one...)
				}
			}
			out = next
		}
	}
	return steps, out
}

func negated(in []int64) (out []int64) {
	for _, n := range in {
		out = append(out, -n)
	}
	return out
}

func (m *model) batches(steps recipe.Chain, all []int64) (recipe.Chain, [][]int64) {
	b := &flow.Batch{Size: rapid.IntRange(1, 4).Draw(m.T, "size"), DropLast: rapid.Bool().Draw(m.T, "drop last")}
	steps = append(steps, recipe.Step{Args: b})
	chunks := slices.Collect(slices.Chunk(all, b.Size))
	if n := len(chunks); b.DropLast && n > 0 && len(chunks[n-1]) < b.Size {
		chunks = chunks[:n-1]
	}
	if rapid.Bool().Draw(m.T, "again") {
		return m.batches(append(steps, recipe.Step{Op: "unbatch"}), slices.Concat(chunks...))
	}
	return steps, chunks
}

// Whatever tree of steps a recipe is, its pipeline gives what lists would, in their
// order, and goes on where it was cut.
func TestProgramsGiveWhatListsWould(t *testing.T) {
	leak.Check(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{T: rt}
		steps, want := m.batches(m.source(2))
		r := recipe.Recipe{Steps: steps}.Complete()
		cut := rapid.IntRange(0, len(want)).Draw(rt, "cut")

		program, run := start(rt, r, pipe.Config{Epochs: 1}, m.from...)
		expect(rt, r, run, want[:cut])
		_, again := start(rt, r, pipe.Config{Epochs: 1, Resume: run.State()}, m.from...)
		for _, run := range []*pipe.Run[*batch.Batch]{run, again} {
			expect(rt, r, run, want[cut:])
			if _, err := run.Next(rt.Context()); err != io.EOF {
				rt.Fatalf("%s: after the last batch: %v", r, err)
			}
		}

		n, text := int64(len(want)), r.String()
		// An operation of a program may leave samples out, for all that is known of it.
		if !program.Drops || program.Uneven != strings.Contains(text, "unbatch") {
			rt.Fatalf("%s: drops %v, uneven %v", text, program.Drops, program.Uneven)
		}
		if program.Batches < n || program.Exact && !m.drops && program.Batches != n {
			rt.Fatalf("%s: %d batches were foreseen, exactly: %v, and %d came", text, program.Batches, program.Exact, n)
		}
	})
}

func expect(t *rapid.T, r recipe.Recipe, run *pipe.Run[*batch.Batch], want [][]int64) {
	for i, numbers := range want {
		b, err := run.Next(t.Context())
		if err != nil {
			t.Fatalf("%s: batch %d: %v", r, i, err)
		}
		if err := b.Take(); err != nil {
			t.Fatal(err)
		}
		var got []int64
		of, _ := b.Tensor("number")
		for row := range b.Rows() {
			got = append(got, int64(binary.NativeEndian.Uint64(of.Data[8*row:])))
		}
		if !slices.Equal(got, numbers) || len(b.Text("key")) != len(numbers) {
			t.Fatalf("%s: batch %d is %v, not %v", r, i, got, numbers)
		}
		b.Release()
	}
}
