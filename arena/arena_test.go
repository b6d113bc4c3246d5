package arena

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/budget"
)

var background = context.Background()

func TestReserveWaitsForARelease(t *testing.T) {
	leaveNothing(t)
	synctest.Test(t, func(t *testing.T) {
		a := open(t, Options{Slots: 1, SlotBytes: 100})
		s := reserve(t, a)
		do(t, s.Seal, s.Send)
		var next *Slot
		go func() { next = reserve(t, a) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if next != nil {
			t.Fatal("Reserve did not wait")
		}
		do(t, func() error { return a.Release(s.Segment(), s.Index()) })
		synctest.Wait()
		if next == nil || !next.Pooled() || next.Index() != s.Index() {
			t.Fatalf("Reserve gave %+v", next)
		}
		do(t, next.Drop)
	})
}

// Anyone who waits learns when the consumer begins to wait for them.
func TestReserveSeesThatTheConsumerWaits(t *testing.T) {
	leaveNothing(t)
	synctest.Test(t, func(t *testing.T) {
		a := open(t, Options{Slots: 1, SlotBytes: 100, HoldLimit: 150})
		s := reserve(t, a)
		do(t, s.Seal, s.Send)
		var err error
		go func() { _, err = a.Reserve(t.Context()) }()
		synctest.Wait()
		a.SetWaiting(true)
		synctest.Wait()
		var held *HeldError
		if !errors.As(err, &held) || *held != (HeldError{Count: 1, Bytes: 100, Limit: 150}) || !strings.Contains(err.Error(), "hold_limit") {
			t.Fatalf("Reserve: %v", err)
		}
		// It fails for as long as that holds true, and no longer.
		do(t, func() error { return a.Release(s.Segment(), s.Index()) })
		do(t, reserve(t, a).Drop)
	})
}

// Batches that are apart are waited for while they are made, however long that takes.
// Those that the consumer holds make room for others, as far as it may hold them, and
// as many are in the making as before.
func TestBatchesThatAreApart(t *testing.T) {
	leaveNothing(t)
	synctest.Test(t, func(t *testing.T) {
		a := open(t, Options{Slots: 4, SlotBytes: 100, HoldLimit: 800, Apart: true})
		var mu sync.Mutex
		var made []*Slot
		var failed error
		another := func() {
			go func() {
				s, err := a.Reserve(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = err
				} else {
					made = append(made, s)
				}
			}()
			synctest.Wait()
		}
		sent := func() {
			s := made[0]
			made = made[1:]
			do(t, s.Seal, s.Send)
			a.SetWaiting(true)
			synctest.Wait()
		}
		for range 4 {
			another()
		}
		a.SetWaiting(true)
		another()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(made) != 4 || a.Stats().Unpooled != 0 {
			t.Fatalf("%d are in the making, %+v", len(made), a.Stats())
		}
		for range 3 { // the consumer holds them, and one is still in the making
			sent()
		}
		if len(made) != 2 || a.Stats().Unpooled != 1 {
			t.Fatalf("%d are in the making, %+v", len(made), a.Stats())
		}
		another()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(made) != 2 {
			t.Fatalf("%d are in the making, and the pool has 4 slots", len(made))
		}
		for i := 4; i < 8; i++ {
			sent()
			if failed != nil {
				t.Fatal(failed)
			}
			another()
			if i < 7 && len(made) != 2 {
				t.Fatalf("%d are in the making where %d are held", len(made), i)
			}
		}
		// Seven are held, so one more may come, which is in the making.
		time.Sleep(time.Hour)
		synctest.Wait()
		if failed != nil || len(made) != 1 {
			t.Fatalf("%d are in the making, and %v", len(made), failed)
		}
		sent()
		var held *HeldError
		if !errors.As(failed, &held) || *held != (HeldError{Count: 8, Bytes: 800, Limit: 800}) {
			t.Fatalf("Reserve: %v", failed)
		}
	})
}

func TestReserveEndsWithItsContext(t *testing.T) {
	leaveNothing(t)
	synctest.Test(t, func(t *testing.T) {
		a := open(t, Options{Slots: 1, SlotBytes: 100})
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		s := reserve(t, a)
		var err error
		go func() { _, err = a.Reserve(ctx) }()
		synctest.Wait()
		cancel(cause)
		synctest.Wait()
		if err != cause {
			t.Fatalf("Reserve: %v", err)
		}
		do(t, s.Drop)
		if _, err := a.Reserve(ctx); err != cause {
			t.Fatalf("Reserve with a context that had ended: %v", err)
		}
	})
}

func TestCloseWakesReservers(t *testing.T) {
	leaveNothing(t)
	synctest.Test(t, func(t *testing.T) {
		a := open(t, Options{Slots: 1, SlotBytes: 100})
		reserve(t, a)
		var errs [3]error
		for i := range errs {
			go func() { _, errs[i] = a.Reserve(t.Context()) }()
		}
		synctest.Wait()
		do(t, a.Close)
		synctest.Wait()
		for _, err := range errs {
			if err != ErrClosed {
				t.Fatalf("Reserve: %v", err)
			}
		}
	})
}

// The pool is announced before anyone has a slot in it, however many ask at once.
func TestAnnouncedBeforeUse(t *testing.T) {
	leaveNothing(t)
	synctest.Test(t, func(t *testing.T) {
		announced := 0
		a := open(t, Options{Slots: 4, SlotBytes: 100, Announce: func(Segment) error {
			time.Sleep(time.Second) // others may pass
			announced++
			return nil
		}})
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				reserve(t, a)
				if announced != 1 {
					t.Errorf("%d announcements at the first slot", announced)
				}
			})
		}
		workers.Wait()
	})
}

func TestAnnouncementFails(t *testing.T) {
	gone := errors.New("the consumer is gone")
	fail := true
	a := open(t, Options{Slots: 1, SlotBytes: 100, Announce: func(Segment) error {
		if fail {
			return gone
		}
		return nil
	}})
	if _, err := a.Reserve(t.Context()); !errors.Is(err, gone) || Live() != 0 {
		t.Fatalf("Reserve: %v; %d segments", err, Live())
	}
	fail = false
	s := reserve(t, a)
	do(t, s.Seal, s.Send)
	a.SetWaiting(true)
	fail = true
	if _, err := a.Reserve(t.Context()); !errors.Is(err, gone) || Live() != 1 || a.Stats().Unpooled != 0 {
		t.Fatalf("Reserve: %v; %d segments, %+v", err, Live(), a.Stats())
	}
}

// An arena that is closed while a segment is being made does not keep it.
func TestClosedWhileASegmentIsMade(t *testing.T) {
	closeAt := 1
	var a *Arena
	announce := func(s Segment) error {
		if s.ID == uint32(closeAt-1) {
			return a.Close()
		}
		return nil
	}
	a = open(t, Options{Slots: 1, SlotBytes: 100, Announce: announce})
	if _, err := a.Reserve(t.Context()); err != ErrClosed || Live() != 0 {
		t.Fatalf("Reserve: %v; %d segments", err, Live())
	}
	closeAt = 2
	a = open(t, Options{Slots: 1, SlotBytes: 100, Announce: announce})
	s := reserve(t, a)
	do(t, s.Seal, s.Send)
	a.SetWaiting(true)
	if _, err := a.Reserve(t.Context()); err != ErrClosed || Live() != 0 {
		t.Fatalf("Reserve: %v; %d segments", err, Live())
	}
}

func TestBudget(t *testing.T) {
	b := budget.New(10 * Stride(100))
	a := open(t, Options{Slots: 4, SlotBytes: 100, Budget: b})
	if got, want := b.ByPurpose()[Purpose], 4*Stride(100); got != want {
		t.Fatalf("%d bytes set aside, want %d", got, want)
	}
	a2 := open(t, Options{Slots: 100, SlotBytes: 100, Budget: b})
	if got := a2.Stats().Slots; got != 6 {
		t.Fatalf("a pool of %d slots where the budget has room for 6", got)
	}
	_, err := New(Options{Slots: 1, SlotBytes: 100, Budget: b})
	if !errors.Is(err, budget.ErrTooSmall) || !strings.Contains(err.Error(), "one batch of 100 bytes") {
		t.Fatalf("New: %v", err)
	}
	// One was used, the other never.
	s := reserve(t, a)
	do(t, s.Seal, s.Take, a.Close, a2.Close)
	if b.Used() != 4*Stride(100) {
		t.Fatalf("%d bytes set aside while a slot is taken", b.Used())
	}
	do(t, s.Drop)
	if b.Used() != 0 {
		t.Fatalf("%d bytes still set aside", b.Used())
	}
}

// A pool that is larger than needed is used only as far as needed. The bytes of slots
// that have grown count in the budget and against what the consumer may hold, whatever
// is left there, and come back with the slot.
func TestGrownSlotsAreCounted(t *testing.T) {
	leaveNothing(t)
	b := budget.New(2 * Stride(100))
	a := open(t, Options{Slots: 2, SlotBytes: 100, HoldLimit: 5000, Budget: b})
	before := b.Used()
	s := reserve(t, a)
	do(t, func() error { return s.Grow(5001) })
	if got := b.Used() - before; got != 5001 || len(s.Bytes()) != 5001 || !s.Pooled() || !s.Grown() {
		t.Errorf("%d bytes, %d in the budget", len(s.Bytes()), got)
	}
	do(t, func() error { return s.Grow(4950) }, s.Seal, s.Send)
	if got := b.Used() - before; got != 4950 {
		t.Errorf("%d bytes in the budget", got)
	}
	a.SetWaiting(true)
	other := reserve(t, a) // the pool has another one
	do(t, other.Seal, other.Send)
	a.SetWaiting(true)
	var held *HeldError
	if _, err := a.Reserve(t.Context()); !errors.As(err, &held) || held.Bytes != 5050 {
		t.Errorf("Reserve: %v", err)
	}
	do(t, func() error { return a.Release(s.Segment(), s.Index()) })
	if got := b.Used(); got != before {
		t.Errorf("%d bytes in the budget, before %d", got, before)
	}
	for _, bytes := range []int{0, -1} {
		if err := reserve(t, a).Grow(bytes); err == nil {
			t.Errorf("grown to %d bytes", bytes)
		}
		do(t, a.Close)
		a = open(t, Options{Slots: 1, SlotBytes: 1})
	}
}

// What cannot be had leaves the slot as it was.
func TestGrowingFails(t *testing.T) {
	leaveNothing(t)
	announced := 0
	a := open(t, Options{Slots: 1, SlotBytes: 100, Announce: func(Segment) error {
		if announced++; announced > 1 {
			return errors.New("nobody listens")
		}
		return nil
	}})
	s := reserve(t, a)
	if err := s.Grow(200); err == nil || !strings.Contains(err.Error(), "nobody listens") || s.Grown() || len(s.Bytes()) != 100 {
		t.Errorf("Grow: %v, %d bytes", err, len(s.Bytes()))
	}
	do(t, s.Seal, s.Drop)
	closes := open(t, Options{Slots: 1, SlotBytes: 100})
	s = reserve(t, closes)
	do(t, closes.Close)
	if err := s.Grow(200); !errors.Is(err, ErrClosed) {
		t.Errorf("Grow after Close: %v", err)
	}
}

func TestFreedLastReservedFirst(t *testing.T) {
	a := open(t, Options{Slots: 8, SlotBytes: 100})
	for range 100 {
		s, s2 := reserve(t, a), reserve(t, a)
		if s.Index() > 1 || s2.Index() > 1 {
			t.Fatalf("slots %d and %d", s.Index(), s2.Index())
		}
		do(t, s.Drop, s2.Drop)
	}
}

// Many fill, one consumes through a mapping of its own, all of them at random; the race
// detector watches.
func TestConcurrentWorkers(t *testing.T) {
	leaveNothing(t)
	m := mirror{segments: map[uint32]mirrored{}}
	defer m.unmap()
	a, err := New(Options{Slots: 3, SlotBytes: 5000, HoldLimit: 12 * 5000, Announce: m.announce})
	if err != nil {
		t.Fatal(err)
	}
	ready, stuck := make(chan *Slot, 2), make(chan struct{}, 1)
	var workers sync.WaitGroup
	for w := range 6 {
		workers.Go(func() { produce(t, a, w, ready, stuck) })
	}
	go func() {
		workers.Wait()
		close(ready)
	}()
	consumeAll(t, a, &m, ready, stuck)
	if s := a.Stats(); s.Free != 3 || s.Unpooled != 0 || s.Filling+s.Sealed+s.Leased != 0 {
		t.Errorf("at the end: %+v", s)
	}
	do(t, a.Close)
}

func produce(t *testing.T, a *Arena, worker int, ready chan<- *Slot, stuck chan<- struct{}) {
	for i := range 100 {
		s, err := a.Reserve(background)
		if held := (*HeldError)(nil); errors.As(err, &held) {
			a.SetWaiting(false)
			select {
			case stuck <- struct{}{}:
			default:
			}
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		fillWith(s.Bytes(), byte(worker))
		if i%10 == 3 {
			err = s.Drop()
		} else if err = s.Seal(); err == nil {
			ready <- s
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// consumeAll holds batches, at times more than it may, and waits for the next one
// meanwhile.
func consumeAll(t *testing.T, a *Arena, m *mirror, ready <-chan *Slot, stuck <-chan struct{}) {
	var held []*Slot
	letGo := func(keep int) {
		for ; len(held) > keep; held = held[1:] {
			m.check(t, held[0])
			if err := a.Release(held[0].Segment(), held[0].Index()); err != nil {
				t.Error(err)
			}
		}
	}
	defer letGo(0)
	for n := 0; ; n++ {
		if len(ready) == 0 {
			a.SetWaiting(true)
		}
		select {
		case <-stuck:
			letGo(0)
		case s, ok := <-ready:
			if !ok {
				return
			}
			if err := s.Send(); err != nil {
				t.Error(err)
			}
			held = append(held, s)
			letGo(n / 50 % 4 * 6)
		}
	}
}

// mirror maps segments a second time, as a consumer in another process would.
type mirror struct {
	mu       sync.Mutex
	segments map[uint32]mirrored
}

type mirrored struct {
	Segment
	memory []byte
}

func (m *mirror) announce(s Segment) error {
	memory, err := mapAgain(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.segments[s.ID] = mirrored{s, memory}
	return err
}

// check looks that a slot has one worker's bytes.
func (m *mirror) check(t *testing.T, s *Slot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seg := m.segments[s.Segment()]
	b := seg.memory[int64(s.Index())*seg.SlotBytes:][:5000]
	for i := range b {
		if b[i] != b[0] || b[i] > 6 {
			t.Errorf("slot %d of segment %d: byte %d is %d beside %d", s.Index(), s.Segment(), i, b[i], b[0])
			return
		}
	}
}

func (m *mirror) unmap() {
	for _, s := range m.segments {
		unmapAgain(s.memory)
	}
}
