package budget

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Both heaps know their oldest, whoever leaves from wherever. They are larger here than
// in histories of a whole budget.
func TestHeaps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h holders
	var w waiters
	var ids []int
	var waiting []*waiter
	for i := range 20_000 {
		order := r.Uint64N(1000)
		if n := r.IntN(100); n >= len(ids) {
			id, _ := h.add(order, 0, 0)
			ids = append(ids, id)
			waiting = append(waiting, w.add(order, uint64(i), "test", 0))
		} else {
			h.remove(ids[n])
			w.remove(waiting[n])
			ids = slices.Delete(ids, n, n+1)
			waiting = slices.Delete(waiting, n, n+1)
		}
		oldest := uint64(math.MaxUint64)
		for _, id := range ids {
			oldest = min(oldest, h.records[id].order)
		}
		if order, ok := h.oldest(); ok != (len(ids) > 0) || ok && order != oldest {
			t.Fatalf("the oldest holder is %d, want %d", order, oldest)
		}
		if first := w.oldest(); (first != nil) != (len(ids) > 0) || first != nil && first.order != oldest {
			t.Fatalf("the oldest waiter is %+v, want %d", first, oldest)
		}
	}
}
