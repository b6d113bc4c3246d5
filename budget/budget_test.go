package budget

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A grant within the limit allocates nothing, whatever the state of the budget.
func TestNoAllocationPerGrant(t *testing.T) {
	b := New(1000)
	var held []Grant
	for order := range uint64(50) {
		held = append(held, now(t, b, order, 10))
	}
	ctx := t.Context()
	order := uint64(50)
	allocated := testing.AllocsPerRun(1000, func() {
		order++
		g, err := b.Acquire(ctx, order, "test", 20)
		if err != nil {
			t.Fatal(err)
		}
		g.Resize(10)
		g.Release()
	})
	if allocated != 0 {
		t.Errorf("%v allocations per grant", allocated)
	}
	for _, g := range held {
		g.Release()
	}
	wantEmpty(t, b)
}

// A small request does not overtake an older, larger one, although it would fit; so the
// larger one is not starved.
func TestNobodyOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		first := now(t, b, 1, 90)
		var admitted [5]bool
		request := func(order uint64, n int64) {
			go func() {
				g, err := b.Acquire(t.Context(), order, "test", n)
				if err != nil {
					t.Error(err)
				}
				admitted[order] = true
				time.Sleep(time.Second)
				g.Release()
			}()
			synctest.Wait()
		}
		request(2, 50)
		request(3, 5)
		request(4, 5)
		if admitted != [5]bool{} {
			t.Fatalf("admitted beside 1: %v", admitted)
		}
		first.Release()
		synctest.Wait()
		if admitted != [5]bool{2: true, 3: true, 4: true} {
			t.Fatalf("admitted after 1: %v, want all", admitted)
		}
		time.Sleep(2 * time.Second)
		wantEmpty(t, b)
	})
}

// The oldest item is admitted whatever it asks for, also for more than it has; the next
// one waits for it.
func TestOldestIsAlwaysAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		g7 := now(t, b, 7, 1000)
		g7b := now(t, b, 7, 1000)
		g3 := now(t, b, 3, 1000) // older than whoever holds
		var g4 Grant
		go func() { g4 = now(t, b, 4, 1) }()
		synctest.Wait()
		if g4 != (Grant{}) {
			t.Fatal("4 was admitted beside the older 3")
		}
		g3.Release()
		synctest.Wait()
		if g4 == (Grant{}) {
			t.Fatal("4 waits although it is the oldest")
		}
		g4.Release()
		g7.Release()
		g7b.Release()
		wantEmpty(t, b)
		s := b.Stats()
		if s.Forced != 4 || s.Peak != 3000 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCancelledHeadLetsOthersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		first := now(t, b, 1, 60)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too long"))
		defer cancel()
		older, younger := make(chan error, 1), make(chan Grant, 1)
		go func() {
			_, err := b.Acquire(ctx, 2, "test", 50)
			older <- err
		}()
		synctest.Wait()
		go func() { younger <- now(t, b, 3, 10) }()
		synctest.Wait()
		if len(younger) > 0 {
			t.Fatal("3 overtook 2")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := <-older; err == nil || err.Error() != "too long" {
			t.Fatal(err)
		}
		(<-younger).Release()
		first.Release()
		wantEmpty(t, b)
		if _, err := b.Acquire(ctx, 9, "test", 1); err == nil {
			t.Fatal("acquired with a context that had ended")
		}
		wantEmpty(t, b)
	})
}

// A waiter that is cancelled, and admitted before it could take itself out, does not
// keep what it was given.
func TestAdmittedAfterCancellation(t *testing.T) {
	for range 20 {
		b := New(10)
		first := now(t, b, 1, 10)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		go func() {
			_, err := b.Acquire(ctx, 2, "test", 10)
			errs <- err
		}()
		for b.Stats().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		b.mu.Lock()
		cancel()
		time.Sleep(time.Millisecond) // the waiter sees it and comes up to the mutex
		b.release(first)
		b.admit()
		b.mu.Unlock()
		if err := <-errs; err != nil {
			wantEmpty(t, b)
		}
	}
}

// Items that each hold several grants, far more than fit, in stages that pass them on
// in order: everyone comes through.
func TestTooSmallForAnyoneIsNoDeadlock(t *testing.T) {
	b := New(1)
	var next sync.Mutex
	var order uint64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for {
				next.Lock()
				mine := order
				order++
				next.Unlock()
				if mine >= 500 {
					return
				}
				read := now(t, b, mine, 10)
				decode := now(t, b, mine, 100)
				read.Release()
				decode.Resize(50)
				decode.Release()
			}
		})
	}
	workers.Wait()
	wantEmpty(t, b)
}

// Admission and cancellation meet at any moment; nothing is left behind, and the limit
// holds for all but the oldest.
func TestCancellationRaces(t *testing.T) {
	b := New(100)
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(100))*time.Microsecond)
				g, err := b.Acquire(ctx, uint64(i*8+w), "test", int64(r.IntN(60)))
				if err == nil {
					g.Resize(int64(r.IntN(30)))
				} else if g != (Grant{}) {
					t.Error("a grant beside an error")
				}
				g.Release()
				cancel()
			}
		})
	}
	workers.Wait()
	wantEmpty(t, b)
	if now(t, b, 1, 1000); b.Used() != 1000 {
		t.Errorf("%d bytes used", b.Used())
	}
}

func TestGrantsThatAreOver(t *testing.T) {
	b := New(100)
	Grant{}.Release()
	Grant{}.Resize(5)
	old := now(t, b, 1, 10)
	old.Release()
	again := now(t, b, 2, 20) // may use the same record
	old.Release()
	old.Resize(7)
	if old.Bytes() != 0 || (Grant{}).Bytes() != 0 || again.Bytes() != 20 || b.Used() != 20 {
		t.Errorf("the old grant has %d bytes, the new %d, %d used", old.Bytes(), again.Bytes(), b.Used())
	}
	again.Release()
	wantEmpty(t, b)
}

// A grant that moves to another lane is no older there than what that says, and nobody
// waits for it in the lane that it has left.
func TestGrantsMoveToOtherLanes(t *testing.T) {
	b := New(10)
	a, z := b.Lane(), b.Lane()
	old, _ := a.Acquire(t.Context(), 1, "x", 10)
	moved := old.Move(z, 7)
	if old.Bytes() != 0 || moved.Bytes() != 10 || b.Stats().Used != 10 {
		t.Errorf("%d and %d bytes, of %d", old.Bytes(), moved.Bytes(), b.Stats().Used)
	}
	first, err := a.Acquire(t.Context(), 5, "x", 1) // the oldest of its lane now
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := z.Acquire(t.Context(), 6, "x", 1) // older than what has moved
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := z.Acquire(over, 8, "x", 1); err == nil {
		t.Error("what is younger is admitted")
	}
	moved.Release()
	old.Release() // again
	first.Release()
	ahead.Release()
	if again := moved.Move(a, 1); again.Bytes() != 0 || (Grant{}).Move(a, 1) != (Grant{}) || b.Stats().Used != 0 {
		t.Errorf("%d bytes are left", b.Stats().Used)
	}
}

func TestEnormousRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(math.MaxInt64)
		first := now(t, b, 1, 10)
		admitted := false
		go func() {
			now(t, b, 2, math.MaxInt64).Release()
			admitted = true
		}()
		synctest.Wait()
		if admitted {
			t.Fatal("the sum overflowed")
		}
		first.Release()
		synctest.Wait()
		if !admitted {
			t.Fatal("not admitted alone")
		}
		if err := b.Reserve("pool", math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		if err := b.Reserve("pool", 1); !errors.Is(err, ErrTooSmall) {
			t.Fatal(err)
		}
	})
}

func TestNoLimitAtAll(t *testing.T) {
	b := New(-5)
	if b.Stats().Limit != 0 || b.Unreserved() != 0 {
		t.Errorf("limit %d", b.Stats().Limit)
	}
	if err := b.Reserve("batches", 1); !errors.Is(err, ErrTooSmall) {
		t.Errorf("Reserve: %v", err)
	}
	g := now(t, b, 5, 5)
	if s := b.Stats(); s.Peak != 5 || s.Used != 5 {
		t.Errorf("used %d, peak %d", s.Used, s.Peak)
	}
	g.Release()
	wantEmpty(t, b)
}

func TestTooSmallNamesTheNumbers(t *testing.T) {
	b := New(1000)
	err := b.Reserve("batches", 1001)
	for _, want := range []string{"batches", "1001", "1000"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if err := b.Reserve("cache", 300); err != nil {
		t.Fatal(err)
	}
	err = b.Reserve("batches", 701)
	for _, want := range []string{"batches", "701", "300", "1000"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestMistakesPanic(t *testing.T) {
	b := New(10)
	g := now(t, b, 1, 1)
	for name, f := range map[string]func(){
		"acquire":   func() { b.Acquire(t.Context(), 1, "test", -1) },
		"resize":    func() { g.Resize(-1) },
		"reserve":   func() { b.Reserve("test", -1) },
		"unreserve": func() { b.Unreserve("test", 1) },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "budget: ") {
					t.Errorf("%s: panicked with %q", name, text)
				}
			}()
			f()
		}()
	}
	g.Release()
	wantEmpty(t, b)
}

func BenchmarkGrant(b *testing.B) {
	budget := New(1 << 30)
	ctx := b.Context()
	b.ReportAllocs()
	for order := uint64(0); b.Loop(); order++ {
		g, _ := budget.Acquire(ctx, order, "test", 1000)
		g.Release()
	}
}
