package group

import (
	"cmp"
	"slices"
)

// choose returns the samples of a row that come into it whole, in their order, until the
// next call.
func (p *pack[T]) choose(from *shelf[T]) []*waiting[T] {
	p.room = append(append(p.room[:0], p.opts.Length), p.opts.Others...)
	chosen, room := p.chosen[:0], p.room
	defer func() { p.chosen = chosen }()
	take := func(w *waiting[T]) bool {
		if len(chosen) == p.opts.Segments || !fits(w, room) {
			return false
		}
		w.taken = true
		chosen = append(chosen, w)
		return true
	}

	switch p.opts.Fit {
	case Wrap:
		for w := from.inOrder.first; w != nil && take(w); w = w.after {
		}
		return chosen
	case FirstFit:
		take(from.longest[0])
		for w := from.inOrder.first; w != nil; w = w.after {
			if !w.taken {
				take(w)
			}
		}
	default:
		for at := 0; at < len(from.longest) && len(chosen) < p.opts.Segments; at++ {
			// Those that are longer than what is left are passed over at once.
			skip, _ := slices.BinarySearchFunc(from.longest[at:], room[0], func(w *waiting[T], room int) int {
				return cmp.Compare(room, w.length)
			})
			if at += skip; at < len(from.longest) {
				take(from.longest[at])
			}
		}
	}
	slices.SortFunc(chosen, func(a, b *waiting[T]) int { return a.number - b.number })
	return chosen
}

// fits takes the room of a sample; it is false if too little is left.
func fits[T any](w *waiting[T], room []int) bool {
	if w.length > room[0] {
		return false
	}
	for k, n := range w.others {
		if n > room[1+k] {
			return false
		}
	}
	room[0] -= w.length
	for k, n := range w.others {
		room[1+k] -= n
	}
	return true
}
