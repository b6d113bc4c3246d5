package rows

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
)

// batch is a batch of the store.
type batch struct {
	cells        []int
	sealed, gone bool
}

// input is an item, or the end of an epoch.
type input struct {
	mark bool
	ends bool // of an item: its batch ends after it
	kind Kind // what becomes of it
}

// operation is one that writes a row.
type operation struct {
	at    Placing[*batch]
	value int
}

// world is everything around a machine: workers, a store, and the stage after it.
type world struct {
	*rapid.T
	m         *Machine[*batch]
	inputs    []input
	taken     int // of inputs
	workers   int
	free      int // batches that the store has
	running   []operation
	abandoned []operation
	out       []string // batches, and the ends of epochs
	lost      int
}

// Whatever comes in whatever order, batches are what a simple model says, every batch of
// the store is sealed or dropped once, no row is overwritten while it is needed, and
// there is always something that can go on.
func TestMachineAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Size: rapid.IntRange(1, 5).Draw(rt, "size"), Ordered: rapid.Bool().Draw(rt, "ordered")}
		o.Groups = o.Ordered && rapid.Bool().Draw(rt, "groups")
		o.DropLast = !o.Groups && rapid.Bool().Draw(rt, "drop the last")
		workers := rapid.IntRange(1, 6).Draw(rt, "workers")
		abandons := rapid.Bool().Draw(rt, "operations are abandoned")

		w := &world{T: rt, m: New[*batch](o, workers), workers: workers, inputs: drawInputs(rt, o)}
		w.free = rapid.IntRange(2, 6).Draw(rt, "batches")
		if o.Groups {
			w.free = 100 // as many as are being filled, and those may be one more than there are workers
		}
		for !w.done() {
			w.step(abandons)
		}
		for len(w.abandoned) > 0 {
			w.giveBack()
		}
		for _, b := range w.m.Close() {
			w.drop(b)
		}

		if want := w.model(o); o.Ordered && !slices.Equal(w.out, want) {
			rt.Fatalf("%v, want %v", w.out, want)
		}
		if o.Ordered {
			return
		}
		w.checkSets(o)
	})
}

func drawInputs(t *rapid.T, o Options) (all []input) {
	n := rapid.IntRange(0, 40).Draw(t, "items")
	inGroup := 0
	for range n {
		in := input{kind: rapid.SampledFrom([]Kind{Written, Written, Written, Gone, Failed}).Draw(t, "becomes")}
		if o.Groups {
			inGroup++
			if in.ends = inGroup == o.Size || rapid.IntRange(0, 2).Draw(t, "ends") == 0; in.ends {
				inGroup = 0
			}
		}
		all = append(all, in)
		if rapid.IntRange(0, 9).Draw(t, "mark") == 0 {
			all = append(all, input{mark: true})
			inGroup = 0
		}
	}
	return append(all, input{mark: true})
}

func (w *world) done() bool {
	return w.taken == len(w.inputs) && len(w.running) == 0 && w.m.Decide() == nil
}

// step does one of the things that may happen now.
func (w *world) step(abandons bool) {
	var may []func()
	if w.taken < len(w.inputs) && len(w.running) < w.workers {
		switch w.m.Ready() {
		case Take:
			may = append(may, w.take)
		case Reserve:
			if !w.m.Needs() {
				break
			}
			w.m.BeginReserve()
			return
		}
	}
	if w.m.Reserving() && w.free > 0 {
		may = append(may, w.give)
	}
	if len(w.running) > 0 {
		may = append(may, func() { w.settle(abandons) })
	}
	if len(w.abandoned) > 0 {
		may = append(may, w.giveBack)
	}
	if may == nil {
		w.Fatalf("%d of %d inputs are taken, and nothing can go on; the store has %d", w.taken, len(w.inputs), w.free)
	}
	may[rapid.IntRange(0, len(may)-1).Draw(w.T, "next")]()
	n := 0
	for d := w.m.Decide(); d != nil; d = w.m.Decide() {
		if n++; n > 1000 {
			w.Fatal("there is no end to what is decided")
		}
		w.carryOut(d)
	}
}

func (w *world) take() {
	in := w.inputs[w.taken]
	w.taken++
	if in.mark {
		w.m.Pass(Outcome{Kind: EpochEnd, Last: w.taken == len(w.inputs)})
		return
	}
	value := w.taken - 1
	at := w.m.Place(progress.Single(progress.Place(0, int64(value))), in.ends)
	w.running = append(w.running, operation{at, value})
}

// give is the store that has found a batch.
func (w *world) give() {
	w.free--
	w.m.EndReserve()
	w.m.Add(&batch{cells: make([]int, w.m.Size)})
}

// settle ends an operation, which may be given up before it has returned.
func (w *world) settle(abandons bool) {
	i := rapid.IntRange(0, len(w.running)-1).Draw(w.T, "which")
	op := w.running[i]
	w.running = slices.Delete(w.running, i, i+1)
	kind := w.inputs[op.value].kind
	var why *failure.Failure
	switch kind {
	case Written:
		w.write(op.at.Ref, op.value)
	case Failed:
		why = new(failure.Origin).NewFailure(errors.New("failed"))
		if abandons && rapid.Bool().Draw(w.T, "abandon") {
			w.m.Abandon(op.at.Ref)
			w.abandoned = append(w.abandoned, op)
		}
	}
	w.m.Settle(&op.at, kind, why)
}

// giveBack is an operation that returns late. It writes its row all the same.
func (w *world) giveBack() {
	op := w.abandoned[0]
	w.abandoned = w.abandoned[1:]
	w.write(op.at.Ref, -1)
	if w.m.Return(op.at.Ref) {
		w.drop(op.at.Ref.Buffer())
	}
}

func (w *world) write(r Ref[*batch], value int) {
	b := r.Buffer()
	if b.sealed || b.gone {
		w.Fatalf("%d is written into a batch that is sealed %t, dropped %t", value, b.sealed, b.gone)
	}
	b.cells[r.Row()] = value
}

func (w *world) drop(b *batch) {
	if b.sealed || b.gone {
		w.Fatalf("a batch is dropped that is sealed %t, dropped %t", b.sealed, b.gone)
	}
	b.gone = true
	w.free++
}

func (w *world) carryOut(d *Decision[*batch]) {
	switch d.Kind {
	case Send:
		w.sent(d.Outcome)
		return
	case Drop:
		for _, b := range d.Buffers {
			w.drop(b)
		}
		return
	case Seal:
		w.refit(d)
	}

	b := d.Buffer()
	d.Moves(func(to int, src *batch, from int) {
		if b.sealed || b.gone || src.sealed || src.gone {
			w.Fatalf("a row moves from or into a batch that is sealed or dropped")
		}
		b.cells[to] = src.cells[from]
	})
	if d.Kind == Move {
		w.m.Moved(d)
		return
	}

	if b.sealed || b.gone {
		w.Fatalf("a batch is sealed again, or was dropped")
	}
	b.sealed = true
	w.free++ // the stage after is done with it at once
	w.out = append(w.out, fmt.Sprint(b.cells[:d.Rows()]))
	for _, b := range w.m.Sealed(d) {
		w.drop(b)
	}
}

// refit gets a batch a buffer that nobody else writes into, or waits until nobody does.
func (w *world) refit(d *Decision[*batch]) {
	w.m.Owe(true)
	for d.Stuck() && !w.m.HasSpare() {
		if w.free > 0 {
			w.give()
		} else {
			w.giveBack()
		}
	}
	w.m.Owe(false)
	if d.Stuck() {
		w.m.Renew(d)
	}
}

func (w *world) sent(o Outcome) {
	switch {
	case o.Kind == EpochEnd:
		w.out = append(w.out, "end")
	case o.Failure != nil:
		w.lost++
	}
}

// model is what comes out of a machine that keeps order.
func (w *world) model(o Options) (out []string) {
	var values []int
	emit := func() {
		if len(values) > 0 {
			out = append(out, fmt.Sprint(values))
		}
		values = nil
	}
	for i, in := range w.inputs {
		if in.mark {
			if o.DropLast {
				values = nil
			}
			emit()
			out = append(out, "end")
			continue
		}
		if in.kind == Written {
			values = append(values, i)
		}
		if o.Groups && in.ends || !o.Groups && len(values) == o.Size {
			emit()
		}
	}
	return out
}

// checkSets compares what comes out of a machine that keeps none: in each epoch all that
// is written comes once, and no batch is short but the last.
func (w *world) checkSets(o Options) {
	at := 0
	var want []int
	for i, in := range w.inputs {
		if !in.mark {
			if in.kind == Written {
				want = append(want, i)
			}
			continue
		}
		var got []int
		short := 0
		for ; w.out[at] != "end"; at++ {
			all := numbers(w.out[at])
			got = append(got, all...)
			if short += o.Size - len(all); short > 0 && w.out[at+1] != "end" {
				w.Fatalf("%s is short, and not the last of its epoch: %v", w.out[at], w.out)
			}
		}
		at++

		left := len(want) - len(got)
		for _, v := range got {
			if !slices.Contains(want, v) {
				w.Fatalf("%d is not among %v, or twice in %v", v, want, got)
			}
			want = slices.DeleteFunc(want, func(x int) bool { return x == v })
		}
		if o.DropLast && (left >= o.Size || short > 0) || !o.DropLast && left > 0 {
			w.Fatalf("%v are missing: %v", want, w.out)
		}
		want = nil
	}
}

func numbers(list string) (all []int) {
	list = list[1 : len(list)-1]
	var v int
	for len(list) > 0 {
		n, err := fmt.Sscan(list, &v)
		if n == 0 || err != nil {
			break
		}
		all = append(all, v)
		list = list[min(len(list), len(fmt.Sprint(v))+1):]
	}
	return all
}
