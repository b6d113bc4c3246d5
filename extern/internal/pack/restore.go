package pack

import (
	"github.com/headrace/headrace/extern/internal/message"
)

// save reserves memory for a copy of values that the function may change in place, so
// that it can be called again for the same sample. It returns the memory's place, or 0 if
// there is none. The worker makes the copy, one sample at a time, before it marks the
// sample in its cell: the sample's sharedValues one after the other, at multiples of 64
// bytes.
func (k *Pack) save(own bool) (at uint64) {
	k.safe = !own || k.of.Copies || k.all || k.of.Kind == Aggregate
	if k.safe {
		return 0
	}
	var sizes [message.MostCalls]int
	for _, v := range k.sharedValues {
		sizes[k.callOf(v)] += aligned(v.size)
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

// Restore undoes the function's changes to a sample's input. It returns false if they are
// unknown.
func (k *Pack) Restore(item int) bool {
	if !k.safe {
		return false
	}
	at := 0
	for _, v := range k.sharedValues {
		if k.callOf(v) != item {
			continue
		}
		if v.own != nil && !k.of.Copies && !k.all {
			copy(v.own, k.saved[at:][:v.size])
		}
		at += aligned(v.size)
	}
	return true
}

// callOf returns the call that a value belongs to.
func (k *Pack) callOf(v sharedValue) int {
	if k.of.Kind == Collate {
		return 0
	}
	return v.item
}
