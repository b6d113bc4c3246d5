package pipe

import (
	"slices"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/queue"
)

// holdings are the items in an aggregator's hands. Any of them may be released next, in a
// time that hardly grows with their number: there may be thousands in rows that are being
// packed.
type holdings[In any] struct {
	all  []holding[In] // in order of their numbers; those that were released are there until half of them have been
	left int           // that are held
}

type holding[In any] struct {
	val     In
	lineage progress.Lineage
	number  int64
	held    bool
	loss    *failure.Failure // it has failed, which is reported with what it is held with; nil: it has not
}

func (h *holdings[In]) add(number int64, m queue.Message[In]) {
	h.all = append(h.all, holding[In]{val: m.Val, lineage: m.Lineage, number: number, held: true})
	h.left++
}

// find returns the place of an item that is held, or -1.
func (h *holdings[In]) find(number int64) int {
	i, ok := slices.BinarySearchFunc(h.all, number, func(one holding[In], number int64) int { return int(one.number - number) })
	if !ok || !h.all[i].held {
		return -1
	}
	return i
}

// release ends the holding of an item. It is not ok where it is not held.
func (h *holdings[In]) release(number int64) (one holding[In], ok bool) {
	i := h.find(number)
	if i < 0 {
		return one, false
	}
	one = h.all[i]
	h.all[i] = holding[In]{number: number}
	if h.left--; h.left < len(h.all)/2 {
		h.all = slices.DeleteFunc(h.all, func(one holding[In]) bool { return !one.held })
	}
	return one, true
}

// each is called for all that are held, in order.
func (h *holdings[In]) each(do func(holding[In])) {
	for _, one := range h.all {
		if one.held {
			do(one)
		}
	}
}

func (h *holdings[In]) clear() { *h = holdings[In]{} }
