package headrace_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/recipe"
)

// A step of a chain as a plain loop does it: samples are lists of one number, batches are
// lists of any.
type loopStep interface {
	add(v []int64) [][]int64
	end() [][]int64
}

type loopBatch struct {
	n        int
	dropLast bool
	held     []int64
}

func (b *loopBatch) add(v []int64) [][]int64 {
	if b.held = append(b.held, v...); len(b.held) < b.n {
		return nil
	}
	return b.take()
}

func (b *loopBatch) end() [][]int64 {
	if b.dropLast || len(b.held) == 0 {
		b.held = nil
		return nil
	}
	return b.take()
}

func (b *loopBatch) take() [][]int64 {
	all := [][]int64{b.held}
	b.held = nil
	return all
}

type loopUnbatch struct{}

func (loopUnbatch) add(v []int64) (all [][]int64) {
	for _, n := range v {
		all = append(all, []int64{n})
	}
	return all
}
func (loopUnbatch) end() [][]int64 { return nil }

type loopChain []loopStep

func (c loopChain) add(v []int64) [][]int64 { return c.from(0, [][]int64{v}) }

func (c loopChain) end() (all [][]int64) {
	for i, s := range c {
		all = append(all, c.from(i+1, s.end())...)
	}
	return all
}

func (c loopChain) from(i int, all [][]int64) [][]int64 {
	for _, s := range c[i:] {
		var next [][]int64
		for _, v := range all {
			next = append(next, s.add(v)...)
		}
		all = next
	}
	return all
}

// loopRoute sends numbers to branches by their rest.
type loopRoute []loopChain

func (r loopRoute) add(v []int64) [][]int64 { return r[v[0]%int64(len(r))].add(v) }
func (r loopRoute) end() (all [][]int64) {
	for _, c := range r {
		all = append(all, c.end()...)
	}
	return all
}

// A gatherer makes chains of batch, unbatch and route, in a recipe and in a loop.
type gatherer struct {
	*rand.Rand
	samples int
	names   int
}

// chain makes one that is given samples, and gives batches, if they are asked for.
func (g *gatherer) chain(depth int, batches bool) (steps []string, loop loopChain) {
	for range g.IntN(3) {
		if depth == 0 || g.IntN(2) == 0 {
			n, drop := 1+g.IntN(4), g.IntN(3) == 0
			steps, loop = append(steps, fmt.Sprintf(`{"batch":{"size":%d,"drop_last":%t}},"unbatch"`, n, drop)),
				append(loop, &loopBatch{n: n, dropLast: drop}, loopUnbatch{})
		} else {
			text, inner := g.route(depth-1, false)
			steps, loop = append(steps, text), append(loop, inner)
		}
	}
	switch {
	case batches && depth > 0 && g.IntN(3) == 0:
		text, inner := g.route(depth-1, true)
		steps, loop = append(steps, text), append(loop, inner)
	case batches:
		n := 1 + g.IntN(4)
		steps, loop = append(steps, fmt.Sprintf(`{"batch":{"size":%d}}`, n)), append(loop, &loopBatch{n: n})
	}
	return steps, loop
}

func (g *gatherer) route(depth int, batches bool) (string, loopRoute) {
	var branches []string
	var loop loopRoute
	n := 2 + g.IntN(2)
	for i := range n {
		var when []string
		for k := i; k < g.samples; k += n {
			when = append(when, fmt.Sprint(k))
		}
		steps, inner := g.chain(depth, batches)
		branches, loop = append(branches, fmt.Sprintf(`{"when":[%s],"steps":[%s]}`, strings.Join(when, ","), strings.Join(steps, ","))),
			append(loop, inner)
	}
	g.names++
	return fmt.Sprintf(`{"route":{"by":"label","branches":[%s]},"name":"route%d"}`, strings.Join(branches, ","), g.names), loop
}

func labelsOf(t *testing.T, b *Batch) (all []int64) {
	label, _ := b.Tensor("label")
	for at := range slices.Chunk(label.Data, 8) {
		all = append(all, int64(binary.NativeEndian.Uint64(at)))
	}
	if len(label.Data) != 8*len(all) || b.Samples() != int64(len(all)) {
		t.Errorf("%d samples, with the numbers %v", b.Samples(), all)
	}
	return all
}

func numbersOfRun(t *testing.T, r recipe.Recipe, c Config, from *State) (all [][]int64, states []State) {
	t.Helper()
	l := stream(t, r, c, from, func(b *Batch, l *Loader) { all, states = append(all, labelsOf(t, b)), append(states, l.State()) })
	l.Close()
	return all, states
}

// Trees with batches in their branches give what a plain loop gives, with however little
// memory, and go on at every batch.
func TestBatchesInBranchesAreThoseOfASequentialLoop(t *testing.T) {
	leak.Check(t)
	for seed := range uint64(tier.Cases(9, 400)) {
		g := &gatherer{Rand: rand.New(rand.NewPCG(seed, 5)), samples: 3 + int(seed%17)}
		text, loop := g.route(2, seed%2 == 0)
		steps, images := text, false
		if seed%3 == 0 { // images, for which samples have to wait
			plain := `{"route":{"by":"label","branches":[{"steps":[{"batch":{"size":1}},"unbatch"]}]},"name":"plain"},` // no images any more
			steps, images = `"decode_image",{"resize":{"size":[8,9]}},`+plain+text, true
		}
		var last loopStep = loopUnbatch{}
		switch {
		case seed%4 == 0: // it ends with batches
			last = loopChain{}
		case seed%2 == 0:
			last, steps = loopChain{loopUnbatch{}, &loopBatch{n: 3}}, steps+`,"unbatch",{"batch":{"size":3}}`
		default:
			last, steps = &loopBatch{n: 3}, steps+`,{"batch":{"size":3}}`
		}
		want := loopNumbers(g.samples, loopChain{loop, last})

		r := numbered(t, g.samples, steps)
		if images {
			r.Steps = slices.Delete(r.Steps, 1, 2) // which drops them
		}
		c := Config{Epochs: new(2), Workers: new(1 + int(seed%5)), Memory: new(int64(12_000))}
		if seed%4 == 0 { // whose slots have room for any
			c.Memory = new(int64(8 << 20))
		}
		got, states := numbersOfRun(t, r, c, nil)
		if whole := slices.Concat(want, want); fmt.Sprint(got) != fmt.Sprint(whole) {
			t.Fatalf("seed %d: %v\n%v, want\n%v", seed, r, got, whole)
		}
		for i := range states {
			if tier.Cases(1, 0) == 1 && i%5 != int(seed%5) {
				continue
			}
			if rest, _ := numbersOfRun(t, r, c, &states[i]); fmt.Sprint(rest) != fmt.Sprint(got[i+1:]) {
				t.Fatalf("seed %d: %v\ncut after batch %d: %v, want %v", seed, r, i, rest, got[i+1:])
			}
		}
	}
}

func loopNumbers(n int, c loopChain) (all [][]int64) {
	for i := range n {
		all = append(all, c.add([]int64{int64(i)})...)
	}
	return append(all, c.end()...)
}
