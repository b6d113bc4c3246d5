package queue

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/pipe/internal/failure"
	"github.com/headrace/headrace/pipe/internal/progress"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// Nobody who waits sleeps while there is something for them, whoever wakes them, however
// often: a bubble in which all sleep is an error of its own.
func TestWakingLosesNobody(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			sleepers, givers := 1+random.IntN(20), 1+random.IntN(4)
			var mu sync.Mutex
			var b waiters
			b.cond.L = &mu
			var left atomic.Int64
			var wg sync.WaitGroup
			for range sleepers {
				wg.Go(func() {
					for range 3 * givers {
						mu.Lock()
						b.wait(func() bool { return left.Load() > 0 })
						left.Add(-1)
						if left.Load() > 0 {
							b.wake()
						}
						mu.Unlock()
					}
				})
			}
			for range givers {
				size := 1 + random.IntN(3)
				wg.Go(func() {
					for n := 3 * sleepers; n > 0; n -= size {
						left.Add(int64(min(n, size)))
						runtime.Gosched()
						if b.wanted.Load() {
							mu.Lock()
							if left.Load() > 0 {
								b.wake()
							}
							mu.Unlock()
						}
					}
				})
			}
			wg.Wait()
			if b.waiting != 0 || b.wanted.Load() || left.Load() != 0 {
				t.Fatalf("%d wait, %d are left", b.waiting, left.Load())
			}
		})
	}
}

// While one was called and has not looked, nobody else is.
func TestOneIsWokenAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var b waiters
		b.cond.L = &mu
		looked, open := 0, false
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				mu.Lock()
				defer mu.Unlock()
				b.wait(func() bool { looked++; return open })
			})
		}
		synctest.Wait()
		mu.Lock()
		before := looked
		for range 10 {
			b.wake()
		}
		mu.Unlock()
		synctest.Wait()
		mu.Lock()
		if looked != before+1 {
			t.Errorf("%d looked after ten calls", looked-before)
		}
		open = true
		b.wakeAll()
		mu.Unlock()
		wg.Wait()
	})
}

// Makers who take no lock, and takers who sleep: every message is taken or disposed of,
// once, also when the queue is aborted in the middle; and those of a maker come in its
// order.
func TestRingLosesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		makers, takers := rapid.IntRange(1, 8).Draw(rt, "makers"), rapid.IntRange(1, 8).Draw(rt, "takers")
		places, each := rapid.IntRange(1, 20).Draw(rt, "places"), rapid.IntRange(1, 100).Draw(rt, "messages of each maker")
		run, haul := rapid.IntRange(1, 8).Draw(rt, "places at a time"), rapid.IntRange(1, worker.MaxRun).Draw(rt, "messages at a time")
		lends, abort := takers == 1 && rapid.Bool().Draw(rt, "lends"), rapid.Bool().Draw(rt, "abort")

		r, s := newTestRing(places)
		r.deferRelease = lends
		r.Lot = rapid.Int64Range(0, 25).Draw(rt, "places made free together")
		var mu sync.Mutex
		var made, taken, dropped []int
		r.Drop = func(v int) { mu.Lock(); dropped = append(dropped, v); mu.Unlock() }
		var all, readers sync.WaitGroup
		for m := range makers {
			all.Go(func() {
				w := s.NewWorker()
				for have, n := 0, 0; n < each; n++ {
					if have == 0 {
						if have = r.ReserveUpTo(w, run); have == 0 {
							return
						}
					}
					have--
					mu.Lock()
					made = append(made, m*each+n)
					mu.Unlock()
					r.Put(&Message[int]{Kind: Item, Val: m*each + n}, w.Last)
				}
			})
		}
		var count atomic.Int64
		for range takers {
			readers.Go(func() {
				w, buf := s.NewWorker(), make([]Message[int], haul)
				for {
					h := r.Take(w, buf)
					if len(h.Msgs) == 0 {
						return
					}
					mu.Lock()
					for _, m := range h.Msgs {
						taken = append(taken, m.Val)
					}
					mu.Unlock()
					r.releaseTaken()
					if count.Add(int64(len(h.Msgs))) == int64(makers*each) || abort && count.Load() > int64(makers*each/2) {
						r.Abort()
					}
				}
			})
		}
		all.Wait()
		readers.Wait()
		r.Drain()
		if got := slices.Sorted(slices.Values(append(slices.Clone(taken), dropped...))); !slices.Equal(got, slices.Sorted(slices.Values(made))) {
			rt.Fatalf("%d were made, %d taken, %d disposed of", len(made), len(taken), len(dropped))
		}
		if takers == 1 {
			last := make(map[int]int)
			for _, v := range taken {
				if before, ok := last[v/each]; ok && v < before {
					rt.Fatalf("%d after %d", v, before)
				}
				last[v/each] = v
			}
		}
		if q := r.Stats(); q.Puts < int64(len(taken)) || q.Puts > int64(len(made)) || q.Gets != int64(len(taken)) || q.Puts < q.Gets {
			rt.Fatalf("%d were made, %d taken: %+v", len(made), len(taken), q)
		}
		if !abort && len(taken) != makers*each {
			rt.Fatalf("%d of %d were taken", len(taken), makers*each)
		}
	})
}

// With a lot, a maker is not woken for every place: only for so many, or when the taker
// has nothing else.
func TestPlacesAreMadeFreeInLots(t *testing.T) {
	for lot, want := range map[int64][]int64{0: {1, 2, 3, 4, 5, 6, 7, 8}, 3: {0, 0, 3, 3, 3, 6, 6, 8}, 100: {0, 0, 0, 0, 0, 0, 0, 8}} {
		const places = 8
		r, s := newTestRing(places)
		r.Lot = lot
		maker, taker := s.NewWorker(), s.NewWorker()
		for range places {
			if r.ReserveUpTo(maker, 1) != 1 {
				t.Fatal("a place is missing")
			}
			r.Put(&Message[int]{Kind: Item}, maker.Last)
		}
		var free []int64
		for range places {
			r.Take(taker, make([]Message[int], 1))
			free = append(free, r.credits.Load())
		}
		if !slices.Equal(free, want) {
			t.Errorf("in lots of %d: %v places are free, want %v", lot, free, want)
		}
	}
}

// newTestRing is a ring without a stage, and the workers that use it.
func newTestRing(places int) (*Ring[int], *worker.Set) {
	ctx, run := worker.NewRun(context.Background())
	run.Halt = func() {}
	nobody := func(*failure.Failure, progress.Lineage) {}
	r := New[int](Owner{Run: run, From: new(failure.Origin), Limit: places, Halt: run.Halt, Note: nobody}, places, nil)
	return r, worker.NewSet(ctx, run)
}

// Who was called and leaves something after calls the next one: those who put in between
// have called nobody, or one.
func TestRingWakesOneAfterTheOther(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			const n = 5
			r, s := newTestRing(n)
			var taken, placed atomic.Int64
			for range n {
				go func() {
					var buf [1]Message[int]
					taken.Add(int64(len(r.Take(s.NewWorker(), buf[:]).Msgs)))
				}()
			}
			synctest.Wait()
			w := s.NewWorker()
			r.ReserveUpTo(w, n)
			for v := range n {
				r.Put(&Message[int]{Kind: Item, Val: v}, 0)
			}
			synctest.Wait()
			if taken.Load() != n {
				t.Fatalf("%d of %d messages were taken", taken.Load(), n)
			}

			r.ReserveUpTo(w, n)
			for range n {
				r.Put(&Message[int]{Kind: Item}, 0)
				go func() { placed.Add(int64(r.ReserveUpTo(s.NewWorker(), 1))) }()
			}
			synctest.Wait()
			buf := make([]Message[int], n)
			r.Take(w, buf)
			synctest.Wait()
			if placed.Load() != n {
				t.Fatalf("%d of %d places were taken", placed.Load(), n)
			}
		})
	}
}

// A message that arrives while the queue is aborted is disposed of by the one who put it
// or by the one who drains, and not by both.
func TestRingDisposesOfWhatComesLate(t *testing.T) {
	for _, c := range []struct{ before, behind int }{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		r, s := newTestRing(1)
		dropped := 0
		r.Drop = func(int) { dropped++ }
		r.Reserve(s.NewWorker())
		// What put does when abort comes after its first look, and perhaps drain, too.
		r.Abort()
		if c.before > 0 {
			r.Drain()
		}
		cell := r.at(0)
		cell.Message = Message[int]{Kind: Item}
		cell.full.Store(1)
		if c.behind > 0 {
			r.Drain()
		}
		if r.announce(0); dropped != 1 {
			t.Errorf("%+v: disposed of %d times", c, dropped)
		}
		if r.Put(&Message[int]{Kind: Item}, 0); dropped != 2 {
			t.Errorf("%+v: what is put after abort is not disposed of", c)
		}
	}
}
