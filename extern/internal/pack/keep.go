package pack

import (
	"headrace/extern/internal/message"
)

// save reserves memory for a copy of what a function may change in place, so that it can
// be called again for the same sample; and returns where that is, 0 for nowhere. The
// worker makes the copy, of one sample at a time, before it says in its cell that this
// one is in work: the values in k.kept after each other, at multiples of 64 bytes.
func (k *Pack) save(own bool) (at uint64) {
	k.safe = !own || k.of.Copies || k.all || k.of.Kind == Aggregate
	if k.safe {
		return 0
	}
	var sizes [message.MostCalls]int
	for _, v := range k.kept {
		sizes[k.keeper(v)] += aligned(v.size)
	}
	size := 0
	for _, n := range sizes {
		size = max(size, n)
	}
	if cap(k.saved) < size {
		k.of.Heap.Give(k.saved)
		k.saved = k.of.Heap.Take(size)
	}
	if at, in := k.of.Spaces.Find(k.saved[:size]); in != nil {
		k.safe = true
		return at
	}
	return 0 // the heap is full
}

// Restore makes what a sample's function was given what it was before; false: nobody
// knows.
func (k *Pack) Restore(item int) bool {
	if !k.safe {
		return false
	}
	at := 0
	for _, v := range k.kept {
		if k.keeper(v) != item {
			continue
		}
		if v.own != nil && !k.of.Copies && !k.all {
			copy(v.own, k.saved[at:][:v.size])
		}
		at += aligned(v.size)
	}
	return true
}

// keeper is the call that a value is of.
func (k *Pack) keeper(v keeping) int {
	if k.of.Kind == Collate {
		return 0
	}
	return v.item
}
