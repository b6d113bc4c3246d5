package pipe

// push adds a number to a heap, whose first is before all others.
func push(heap []int, n int, before func(a, b int) bool) []int {
	heap = append(heap, n)
	rise(heap, len(heap)-1, before)
	return heap
}

// remove takes out the number at a place.
func remove(heap []int, at int, before func(a, b int) bool) []int {
	last := len(heap) - 1
	heap[at] = heap[last]
	if heap = heap[:last]; at == last {
		return heap
	}
	rise(heap, at, before)
	for {
		child := 2*at + 1
		if child >= last {
			return heap
		}
		if child+1 < last && before(heap[child+1], heap[child]) {
			child++
		}
		if !before(heap[child], heap[at]) {
			return heap
		}
		heap[at], heap[child] = heap[child], heap[at]
		at = child
	}
}

func rise(heap []int, at int, before func(a, b int) bool) {
	for at > 0 {
		parent := (at - 1) / 2
		if !before(heap[at], heap[parent]) {
			return
		}
		heap[at], heap[parent] = heap[parent], heap[at]
		at = parent
	}
}
