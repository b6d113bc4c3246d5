package queue

import (
	"github.com/headrace/headrace/pipe/internal/worker"
)

// Resize changes how many places there may be. Those that are reserved too many are gone
// when they are released.
func (r *Ring[T]) Resize(places int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.maxCapacity = places
	r.setCapacity(min(places, max(r.capacity, InitialCapacity)))
	r.room.wakeAll()
}

// grow makes more places, if there may be more. The lock is held.
func (r *Ring[T]) grow() (grown bool) {
	before := r.capacity
	if before < r.maxCapacity {
		r.setCapacity(min(r.maxCapacity, 2*before))
	}
	return r.capacity > before
}

// setCapacity makes places, or takes some away. The lock is held.
func (r *Ring[T]) setCapacity(places int) {
	if old := r.cells.Load(); places > len(old.all) {
		r.cells.Store(&cells[T]{all: makeCells[T](places), from: r.head + int64(len(old.all)), older: old})
	}
	r.credits.Add(int64(places - r.capacity))
	r.capacity = places
}

// Reserve waits for a free place. It returns false when nothing more is needed.
func (r *Ring[T]) Reserve(w *worker.Worker) bool { return r.ReserveUpTo(w, 1) > 0 }

// ReserveUpTo waits for a free place and takes up to n of them. It returns 0 when nothing
// more is needed.
func (r *Ring[T]) ReserveUpTo(w *worker.Worker, n int) int {
	if got := r.tryReserve(n); got > 0 && !r.aborted.Load() {
		return got
	}
	return r.awaitCredit(w, n, false)
}

// ReserveInput is ReserveUpTo for a worker with nothing in hand. It returns 0 also when
// the worker has to leave.
func (r *Ring[T]) ReserveInput(w *worker.Worker, n int) int {
	if got := r.tryReserve(n); got > 0 && !r.aborted.Load() {
		return got
	}
	return r.awaitCredit(w, n, true)
}

// awaitCredit waits for a free place, unless the worker may leave, and has to.
func (r *Ring[T]) awaitCredit(w *worker.Worker, n int, mayLeave bool) (got int) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.aborted.Load() {
		return 0
	}

	for r.credits.Load() <= 0 && r.grow() {
	}
	if got = r.tryReserve(n); got > 0 {
		r.wakeMaker()
		return got
	}

	leaves := false
	w.BeforeWait(&w.Blocked)
	began := w.Last
	r.occupancy.putWait.begins(began)
	r.room.wait(func() bool {
		if r.aborted.Load() {
			return true
		}
		if got = r.tryReserve(n); got == 0 && mayLeave {
			leaves = w.Set.MustStop()
		}
		return got > 0 || leaves
	})

	r.occupancy.putWait.ends(began, w.Tick(&w.Blocked))
	if r.aborted.Load() {
		return 0
	}
	r.wakeMaker()
	return got
}

// tryReserve takes up to n free places.
func (r *Ring[T]) tryReserve(n int) int {
	for {
		free := r.credits.Load()
		if free <= 0 {
			return 0
		}
		got := min(int64(n), free)
		if r.credits.CompareAndSwap(free, free-got) {
			return int(got)
		}
	}
}

// Release gives reserved places back.
func (r *Ring[T]) Release(n int) {
	if n == 0 {
		return
	}
	r.credits.Add(int64(n))
	if r.room.wanted.Load() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wakeMaker()
	}
}

// wakeMaker wakes one who waits for room, if there is some.
func (r *Ring[T]) wakeMaker() {
	if r.room.waiting > 0 && r.credits.Load() > 0 {
		r.room.wake()
	}
}
