package source

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/order"
)

// A Selection is some of a number of samples, in their order.
type Selection interface {
	order.Sequence // member k, from 0
	Len() int64
	Below(i int64) int64 // how many members are below i
}

// choices say which samples of a source come: by what they are, before anything orders
// them, and then by their places in the order of an epoch.
type choices struct {
	before []Selection   // each of what the one before it leaves
	after  []order.Range // likewise
	of     []int64       // how many each range was chosen of
	name   string        // of the last step that has left some out
}

// Of returns how many samples each range was chosen of, in the order of the steps; nil:
// there are none. A source that grows may have as many in the ranges, and others.
func (l *Listing) Of() []int64 { return l.choices.of }

// Given returns how many samples there are for a step that orders them, or that says
// which of them come before anything has ordered them.
func (l *Listing) Given() int64 {
	if n := len(l.choices.before); n > 0 {
		return l.choices.before[n-1].Len()
	}
	return l.Contents.Len()
}

// Choose has only these come of the samples that are given. Nothing has ordered them yet.
func (l *Listing) Choose(step string, s Selection) {
	l.choices.before, l.choices.name, l.Among = append(l.choices.before, s), step, l.among
}

// Slice has only a range come: of the samples that are given, or, if a step before has
// ordered these, of the order of each epoch.
func (l *Listing) Slice(step string, r order.Range) {
	l.choices.of = append(l.choices.of, l.Drawn())
	if l.Order == nil && l.Shuffle == nil {
		l.Choose(step, r.Of(l.Given()))
		return
	}
	l.choices.after, l.choices.name, l.Among = append(l.choices.after, r), step, l.among
}

// Divide has only those come of the samples that are given for which is reports true of
// their index in the source. Nothing has ordered them yet.
func (l *Listing) Divide(step string, is func(index int64) bool) {
	c := l.choices
	l.Choose(step, order.MembersOf(l.Given(), func(k int64) bool { return is(c.index(k)) }))
}

// Named returns the function from a sample to a name that stays its own, whatever is
// added to the source.
func (l *Listing) Named() (func(index int64) string, error) {
	switch c := l.Contents.(type) {
	case interface{ Name(index int64) string }:
		return c.Name, nil
	case *object:
		if c.call.Keys != "" {
			return nil, fmt.Errorf("%w: split divides samples of %q by their names, which keys= gives only once they are read: "+
				"leave keys out, and their numbers decide, or divide the object itself", core.ErrConfig, l.Name)
		}
	}
	return l.Contents.Key, nil
}

// Starts returns where blocks begin among the samples that are given, if these are the
// starts among all samples of the source.
func (l *Listing) Starts(all []int64) []int64 {
	if l.choices.before == nil {
		return all
	}
	starts := make([]int64, 0, len(all))
	for _, i := range all {
		for _, s := range l.choices.before {
			i = s.Below(i)
		}
		starts = append(starts, i)
	}
	starts = slices.Compact(starts) // blocks of which nothing is left
	if n := len(starts); n > 1 && starts[n-1] == l.Given() {
		starts = starts[:n-1]
	}
	return starts
}

// index returns the sample of the source that is one of those chosen before the order.
func (c *choices) index(k int64) int64 {
	for i := len(c.before) - 1; i >= 0; i-- {
		k = c.before[i].At(k)
	}
	return k
}

// count returns how many are chosen of an order of n places.
func (c *choices) count(n int64) int64 { return c.slice(n).Count }

// slice returns the places that are chosen of an order of n.
func (c *choices) slice(n int64) order.Slice {
	all := order.Slice{Step: 1, Count: n}
	for _, r := range c.after {
		s := r.Of(all.Count)
		all = order.Slice{First: all.At(s.First), Step: all.Step * s.Step, Count: s.Count}
	}
	return all
}

// slice returns the places that are chosen of an epoch's order.
func (l *Listing) slice(epoch int) order.Slice {
	if d := l.drawnOf(epoch); d != nil {
		return l.choices.slice(d.places())
	}
	return l.choices.slice(l.ordered())
}

// none says that nothing is left of an epoch, which has fewer samples than others.
func (l *Listing) none(epoch int) error {
	n := l.ordered()
	if d := l.drawnOf(epoch); d != nil {
		n = d.places()
	}
	return fmt.Errorf("headrace: %s leaves none of the %d samples that come in epoch %d: take more, skip fewer, or end before that "+
		"with loader(epochs=%d)", l.choices.name, n, epoch, epoch)
}
