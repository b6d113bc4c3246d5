package source

import (
	"context"
	"fmt"
	"iter"

	"headrace/internal/ops"
	"headrace/internal/record"
	"headrace/order"
	"headrace/pipe"
)

// lists are those of an epoch whose sampler gives lists, each of which is a batch. Places
// of the epoch are lists then, so that ranks, states and what is left under another
// number of ranks have whole ones.
type lists struct {
	starts  []int64 // in numbers, of each list; then the end of the last
	numbers []int64 // of samples, list by list
}

// cut makes lists of what a sampler has given: their number, their lengths, and the
// sample numbers.
func (s *sampled) cut(epoch int, all []int64) (func(int64) int64, error) {
	broken := func() error {
		return fmt.Errorf("headrace: the lists of the sampler of %q in epoch %d do not add up", s.name, epoch)
	}
	if len(all) == 0 || all[0] < 1 || all[0] > int64(len(all)-1) {
		return nil, broken()
	}
	lengths, numbers := all[1:1+all[0]], all[1+all[0]:]
	l := &lists{starts: make([]int64, 1, len(lengths)+1), numbers: numbers}
	end := int64(0)
	for _, n := range lengths {
		if n < 1 || n > int64(len(numbers))-end {
			return nil, broken()
		}
		end += n
		l.starts = append(l.starts, end)
	}
	if end != int64(len(numbers)) {
		return nil, broken()
	}
	if err := s.check(epoch, numbers); err != nil {
		return nil, err
	}

	s.cuts.Store(epoch, l)
	at := s.keep(epoch, int64(len(numbers)), func(place int64) int64 { return numbers[place] })
	s.cuts.Range(func(key, _ any) bool {
		if s.Known(key.(int)) == nil {
			s.cuts.Delete(key)
		}
		return true
	})
	return at, nil
}

// Lists tells whether places of the source's epochs are lists of samples, each a batch.
func (l *Listing) Lists() bool {
	o, ok := l.Order.(*sampled)
	return ok && o.args.Lists > 0
}

// listsOf are those of an epoch that is known; nil: it is not, or has none.
func (l *Listing) listsOf(epoch int) *lists {
	if !l.Lists() {
		return nil
	}
	all, _ := l.Order.(*sampled).cuts.Load(epoch)
	known, _ := all.(*lists)
	return known
}

// SplitOf is a split of the source for an epoch: samplers may give more lists in one than
// in another. Of an epoch that is not known it is the first one's.
func (l *Listing) SplitOf(s order.Split, epoch int) order.Split {
	if lists := l.listsOf(epoch); lists != nil {
		s.Samples = int64(len(lists.starts) - 1)
	}
	return s
}

// Know learns the lists of an epoch that a run goes on in.
func (l *Listing) Know(ctx context.Context, epoch int) error {
	if !l.Lists() {
		return nil
	}
	_, err := l.Order.Epoch(ctx, epoch)
	return err
}

// Deal makes the operation that gives the samples of a list, of most at most; 0: of any
// number. None is read yet.
func (l *Listing) Deal(w *ops.Env, most int) func(context.Context, *record.Record) iter.Seq2[*record.Record, error] {
	return func(_ context.Context, it *record.Record) iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			defer w.Drop(it)
			lists, place := l.listsOf(it.ID.Epoch), it.Turn-1
			first, end := lists.starts[place], lists.starts[place+1]
			if most > 0 && end-first > int64(most) {
				yield(nil, pipe.Stop(fmt.Errorf("headrace: the sampler of %q gives a list of %d samples in epoch %d, and those of the first epoch led to expect at most %d: give lists of a bounded length, or batch a collate function, which takes any", l.Name, end-first, it.ID.Epoch, most)))
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
