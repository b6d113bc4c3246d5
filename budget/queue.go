package budget

// Both sides of a budget ask for their oldest: holders, to know who must not wait, and
// waiters, to know who is next. Either is a binary heap whose elements know their
// place, so that any of them can leave. container/heap would box every element: an
// allocation per grant.

// nowhere is the place of what is in no heap.
const nowhere = -1

// holder is a grant under way.
type holder struct {
	order   uint64
	n       int64
	serial  uint64 // which grant this is: ids are used again
	purpose int
	at      int // place in the heap; nowhere where it is parked
}

// holders is a heap of grants. Their records stay where they are, under their id, and
// are used again.
type holders struct {
	records []holder
	free    []int // ids of records that are in no use
	heap    []int // ids
	serial  uint64
}

func (h *holders) oldest() (order uint64, ok bool) {
	if len(h.heap) == 0 {
		return 0, false
	}
	return h.records[h.heap[0]].order, true
}

func (h *holders) add(order uint64, purpose int, n int64) (id int, serial uint64) {
	if last := len(h.free) - 1; last >= 0 {
		id, h.free = h.free[last], h.free[:last]
	} else {
		id = len(h.records)
		h.records = append(h.records, holder{})
	}
	h.serial++
	h.records[id] = holder{order: order, n: n, serial: h.serial, purpose: purpose, at: len(h.heap)}
	h.heap = append(h.heap, id)
	siftUp(h, len(h.heap)-1)
	return id, h.serial
}

// find returns the grant's record, or nil where it was released.
func (h *holders) find(id int, serial uint64) *holder {
	if h.records[id].serial != serial {
		return nil
	}
	return &h.records[id]
}

// park takes a grant out of the heap, and keeps its record.
func (h *holders) park(id int) {
	takeOut(h, h.records[id].at)
	h.records[id].at = nowhere
}

func (h *holders) remove(id int) {
	if h.records[id].at != nowhere {
		takeOut(h, h.records[id].at)
	}
	h.records[id] = holder{at: nowhere}
	h.free = append(h.free, id)
}

func (h *holders) len() int { return len(h.heap) }

func (h *holders) less(i, j int) bool {
	return h.records[h.heap[i]].order < h.records[h.heap[j]].order
}

func (h *holders) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.records[h.heap[i]].at, h.records[h.heap[j]].at = i, j
}

func (h *holders) dropLast() { h.heap = h.heap[:len(h.heap)-1] }

// waiter is an acquisition that could not be granted at once.
type waiter struct {
	order    uint64
	arrival  uint64 // among equals the first to come is the first to go
	purpose  Purpose
	n        int64
	at       int // place in the heap; nowhere once admitted
	grant    Grant
	admitted chan struct{}
}

// waiters is a heap of waiters.
type waiters struct {
	heap []*waiter
}

func (w *waiters) oldest() *waiter {
	if len(w.heap) == 0 {
		return nil
	}
	return w.heap[0]
}

// olderThan reports whether someone waits whom a newcomer of that order must not
// overtake.
func (w *waiters) olderThan(order uint64) bool {
	return len(w.heap) > 0 && w.heap[0].order <= order
}

func (w *waiters) add(order, arrival uint64, purpose Purpose, n int64) *waiter {
	late := &waiter{order: order, arrival: arrival, purpose: purpose, n: n, at: len(w.heap), admitted: make(chan struct{})}
	w.heap = append(w.heap, late)
	siftUp(w, len(w.heap)-1)
	return late
}

func (w *waiters) remove(gone *waiter) {
	takeOut(w, gone.at)
	gone.at = nowhere
}

func (w *waiters) len() int { return len(w.heap) }

func (w *waiters) less(i, j int) bool {
	a, b := w.heap[i], w.heap[j]
	return a.order < b.order || a.order == b.order && a.arrival < b.arrival
}

func (w *waiters) swap(i, j int) {
	w.heap[i], w.heap[j] = w.heap[j], w.heap[i]
	w.heap[i].at, w.heap[j].at = i, j
}

func (w *waiters) dropLast() {
	w.heap[len(w.heap)-1] = nil
	w.heap = w.heap[:len(w.heap)-1]
}

type heap interface {
	len() int
	less(i, j int) bool
	swap(i, j int)
	dropLast()
}

func takeOut(h heap, i int) {
	last := h.len() - 1
	h.swap(i, last)
	h.dropLast()
	if i < last {
		siftUp(h, i)
		siftDown(h, i)
	}
}

func siftUp(h heap, i int) {
	for parent := (i - 1) / 2; i > 0 && h.less(i, parent); parent = (i - 1) / 2 {
		h.swap(i, parent)
		i = parent
	}
}

func siftDown(h heap, i int) {
	for child := 2*i + 1; child < h.len(); child = 2*i + 1 {
		if child+1 < h.len() && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}
