package source

import (
	"context"
	"fmt"
	"iter"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
)

// drawn is what a sampler gives in an epoch. If it gives lists, each is a batch, and
// places of the epoch are lists, so that ranks, states and what is left under another
// number of ranks have whole ones.
type drawn struct {
	starts  []int64       // in numbers, of each list; then the end of the last. nil: there are no lists
	numbers order.Numbers // of samples, list by list
}

// places returns the number of places in the epoch.
func (d *drawn) places() int64 {
	if d.starts != nil {
		return int64(len(d.starts) - 1)
	}
	return int64(len(d.numbers))
}

// cut makes lists of a sampler's numbers: their number, their lengths, and the samples.
// nil: they do not add up.
func cut(all []int64) *drawn {
	if len(all) == 0 || all[0] < 0 || all[0] > int64(len(all)-1) {
		return nil
	}
	lengths, numbers := all[1:1+all[0]], all[1+all[0]:]
	d := &drawn{starts: make([]int64, 1, len(lengths)+1), numbers: numbers}
	end := int64(0)
	for _, n := range lengths {
		if n < 1 || n > int64(len(numbers))-end {
			return nil
		}
		end += n
		d.starts = append(d.starts, end)
	}
	if end != int64(len(numbers)) {
		return nil
	}
	return d
}

// Lists tells whether places of the source's epochs are lists of samples, each a batch.
func (l *Listing) Lists() bool {
	o, ok := l.Order.(*sampled)
	return ok && o.Sampler.Lists > 0
}

// Sampled tells whether a sampler orders the source, whose epochs may differ in length.
func (l *Listing) Sampled() bool {
	_, ok := l.Order.(*sampled)
	return ok
}

// drawnOf returns the sampler's numbers for an epoch; nil: it is not known, or there is
// no sampler.
func (l *Listing) drawnOf(epoch int) *drawn {
	o, ok := l.Order.(*sampled)
	if !ok {
		return nil
	}
	all, _ := o.drawn.Load(epoch)
	known, _ := all.(*drawn)
	return known
}

// SplitOf is a split of the source for an epoch: samplers may give more in one than
// in another. Of an epoch that is not known it is the first one's.
func (l *Listing) SplitOf(s order.Split, epoch int) order.Split {
	if d := l.drawnOf(epoch); d != nil {
		s.Samples = l.choices.count(d.places())
	}
	return s
}

// Know asks the sampler for the numbers of an epoch that a run goes on in.
func (l *Listing) Know(ctx context.Context, epoch int) error {
	if !l.Sampled() {
		return nil
	}
	_, err := l.Order.Epoch(ctx, epoch)
	return err
}

// Deal makes the operation that gives the samples of a list, of most at most; 0: of any
// number. None is read yet.
func (l *Listing) Deal(w *core.Env, most int) func(context.Context, *record.Record) iter.Seq2[*record.Record, error] {
	return func(_ context.Context, it *record.Record) iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			defer w.Drop(it)
			lists, place := l.drawnOf(it.ID.Epoch), it.Turn-1
			first, end := lists.starts[place], lists.starts[place+1]
			if most > 0 && end-first > int64(most) {
				yield(nil,
					pipe.Stop(fmt.Errorf("%w of %q gives a list of %d samples in epoch %d, "+
						"and those of the first epoch led to expect at most %d: give lists of a bounded length, or "+
						"batch a collate function, which takes any", ErrSampler, l.Name, end-first, it.ID.Epoch, most)))
				return
			}
			for i := first; i < end; i++ {
				r := l.Record(it.ID.Epoch, it.ID.Pos, lists.numbers[i])
				r.Turn, r.InList, r.OfList = i+1, int(i-first), int(end-first)
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}
