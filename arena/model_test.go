package arena

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The model walks random histories of an arena beside a list of what every slot should
// be. Time is the bubble's, so that waiting has exact outcomes.
func TestModel(t *testing.T) {
	leaveNothing(t)
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(withoutDeadline{t}, func(rt *rapid.T) {
			m := newModel(rt, t.Context())
			defer m.end(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"reserve": m.reserve,
				"seal":    m.verb("seal", (*Slot).Seal, sealed, filling),
				"send":    m.verb("send", (*Slot).Send, leased, sealed, taken),
				"take":    m.verb("take", (*Slot).Take, taken, sealed),
				"drop":    m.verb("drop", (*Slot).Drop, free, filling, sealed, taken),
				"release": m.release,
				"garbage": m.releaseGarbage,
				"waiting": m.setWaiting,
				// Names again, because most histories would have too few slots in play.
				"reserve again": m.reserve,
				"deliver":       m.deliver,
				"hurry":         m.hurry,
				"grow":          m.grow,
				"":              m.check,
			})
		})
	})
}

// withoutDeadline hides the test's deadline from rapid: it is in the world's time, and
// asking for it inside a bubble panics.
type withoutDeadline struct{ testing.TB }

type model struct {
	ctx   context.Context
	arena *Arena
	slots int
	bytes int
	limit int64

	waiting   bool
	lives     []*life // all handles ever given out
	announced map[uint32]Segment
	fill      byte
}

// life is what the model believes of one slot handle.
type life struct {
	slot    *Slot
	memory  []byte
	segment uint32
	index   uint32
	pooled  bool
	state   state // free: ended
	pattern byte
	home    uint32 // the segment of the place in which it is, once it has grown; else its own
}

func newModel(rt *rapid.T, ctx context.Context) *model {
	m := &model{
		ctx:       ctx,
		slots:     rapid.IntRange(1, 4).Draw(rt, "slots"),
		bytes:     rapid.SampledFrom([]int{1, 100, 4096, 5000}).Draw(rt, "bytes"),
		announced: map[uint32]Segment{},
	}
	m.limit = int64(m.bytes * rapid.IntRange(1, 7).Draw(rt, "limit"))
	var err error
	m.arena, err = New(Options{Slots: m.slots, SlotBytes: m.bytes, HoldLimit: m.limit, Announce: func(s Segment) error {
		if _, twice := m.announced[s.ID]; twice {
			rt.Fatalf("segment %d announced twice", s.ID)
		}
		m.announced[s.ID] = s
		return nil
	}})
	if err != nil {
		rt.Fatal(err)
	}
	return m
}

// count is the number of slots in any of the states.
func (m *model) count(states ...state) (n int) {
	for _, l := range m.lives {
		if slices.Contains(states, l.state) {
			n++
		}
	}
	return n
}

func (m *model) reserve(rt *rapid.T) {
	patient := rapid.Bool().Draw(rt, "patient")
	timeout := patience / 2
	if patient {
		timeout = 3 * patience
	}
	ctx, cancel := context.WithTimeout(m.ctx, timeout)
	defer cancel()
	began := time.Now()
	s, err := m.arena.Reserve(ctx)
	waited := time.Since(began)

	inPool := 0
	for _, l := range m.lives {
		if l.state != free && l.pooled {
			inPool++
		}
	}
	making, held := m.count(filling), m.count(leased, taken)
	heldBytes := m.held()
	within := heldBytes+int64((making+1)*m.bytes) <= m.limit
	switch {
	case inPool < m.slots:
		m.granted(rt, s, err, true)
	case !m.waiting || m.count(sealed) > 0:
		m.timedOut(rt, s, err, waited == timeout)
	case making == 0 && !within:
		want := HeldError{Count: held, Bytes: heldBytes, Limit: m.limit}
		var got *HeldError
		if !errors.As(err, &got) || *got != want || waited != 0 {
			rt.Fatalf("Reserve = %v, %v after %v, want %+v", s, err, waited, want)
		}
	case making == 0, making == 1 && within:
		if waited != 0 {
			rt.Fatalf("an unpooled slot came after %v", waited)
		}
		m.granted(rt, s, err, false)
	case patient:
		if waited != patience {
			rt.Fatalf("an unpooled slot came after %v, want %v", waited, patience)
		}
		m.granted(rt, s, err, false)
	default:
		m.timedOut(rt, s, err, waited == timeout)
	}
}

func (m *model) timedOut(rt *rapid.T, s *Slot, err error, onTime bool) {
	if s != nil || !errors.Is(err, context.DeadlineExceeded) || !onTime {
		rt.Fatalf("Reserve = %v, %v (on time: %v), want to wait in vain", s, err, onTime)
	}
}

func (m *model) granted(rt *rapid.T, s *Slot, err error, pooled bool) {
	if err != nil {
		rt.Fatalf("Reserve: %v", err)
	}
	m.fill++
	l := &life{slot: s, memory: s.Bytes(), segment: s.Segment(), home: s.Segment(), index: s.Index(),
		pooled: pooled, state: filling, pattern: m.fill}
	where, ok := m.announced[l.segment]
	switch {
	case !ok:
		rt.Fatalf("segment %d was not announced", l.segment)
	case s.Pooled() != pooled:
		rt.Fatalf("pooled: %v, want %v", s.Pooled(), pooled)
	case int(l.index) >= where.Slots || where.SlotBytes*int64(where.Slots) != where.Bytes || where.SlotBytes%64 != 0:
		rt.Fatalf("slot %d of %+v", l.index, where)
	case len(l.memory) != m.bytes || cap(l.memory) != m.bytes:
		rt.Fatalf("%d bytes with room for %d, want %d", len(l.memory), cap(l.memory), m.bytes)
	}
	for i := range l.memory {
		l.memory[i] = l.pattern
	}
	m.lives = append(m.lives, l)
}

// held is how many bytes the consumer holds.
func (m *model) held() (n int64) {
	for _, l := range m.lives {
		if l.state == leased || l.state == taken {
			n += int64(len(l.memory))
		}
	}
	return n
}

// grow finds a batch too large for its slot.
func (m *model) grow(rt *rapid.T) {
	l := m.anyLife(rt, filling)
	if l == nil {
		return
	}
	n := rapid.SampledFrom([]int{1, 4096, 10000}).Draw(rt, "size")
	err := l.slot.Grow(n)
	if l.state != filling {
		m.refused(rt, "grow", err)
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	m.fill++
	l.memory, l.segment, l.index, l.pattern = l.slot.Bytes(), l.slot.Segment(), l.slot.Index(), m.fill
	where, ok := m.announced[l.segment]
	if !ok || l.segment == l.home || where.Slots != 1 || where.Bytes < int64(n) || l.index != 0 || len(l.memory) != n || l.slot.Pooled() != l.pooled || !l.slot.Grown() {
		rt.Fatalf("grown to %d bytes: slot %d of %+v, pooled: %v, grown: %v", len(l.memory),
			l.index, where, l.slot.Pooled(), l.slot.Grown())
	}
	for i := range l.memory {
		l.memory[i] = l.pattern
	}
}

// anyLife draws a handle, as likely as not one that is still worth something.
func (m *model) anyLife(rt *rapid.T, likely ...state) *life {
	some := m.lives
	if rapid.Bool().Draw(rt, "likely") {
		some = nil
		for _, l := range m.lives {
			if slices.Contains(likely, l.state) {
				some = append(some, l)
			}
		}
	}
	if len(some) == 0 {
		return nil // not Skip: rapid ends a history in which many actions are skipped
	}
	return rapid.SampledFrom(some).Draw(rt, "slot")
}

// verb is an action that asks a slot for something and knows from which states it is
// allowed.
func (m *model) verb(name string, do func(*Slot) error, to state, from ...state) func(*rapid.T) {
	return func(rt *rapid.T) {
		l := m.anyLife(rt, from...)
		if l == nil {
			return
		}
		err := do(l.slot)
		if slices.Contains(from, l.state) {
			if err != nil {
				rt.Fatalf("%s a slot that is %v: %v", name, l.state, err)
			}
			m.become(l, to)
			return
		}
		m.refused(rt, name, err)
	}
}

// deliver brings a slot to the consumer without detours.
func (m *model) deliver(rt *rapid.T) {
	for _, l := range m.lives {
		if l.state == filling {
			if err := errors.Join(l.slot.Seal(), l.slot.Send()); err != nil {
				rt.Fatal(err)
			}
			m.become(l, leased)
			return
		}
	}
}

// hurry lets the consumer wait for a reservation.
func (m *model) hurry(rt *rapid.T) {
	m.waiting = true
	m.arena.SetWaiting(true)
	m.reserve(rt)
}

func (m *model) refused(rt *rapid.T, verb string, err error) {
	var state *StateError
	if !errors.As(err, &state) || state.Verb != verb {
		rt.Fatalf("%s was not refused: %v", verb, err)
	}
}

func (m *model) become(l *life, to state) {
	l.state = to
	if to == leased || to == taken {
		m.waiting = false
	}
	if to == free && (!l.pooled || l.segment != l.home) {
		l.memory = nil
	}
}

func (m *model) release(rt *rapid.T) {
	l := m.anyLife(rt, leased)
	if l == nil {
		return
	}
	at := slices.IndexFunc(m.lives, func(o *life) bool {
		return o.segment == l.segment && o.index == l.index && o.state == leased
	})
	err := m.arena.Release(l.segment, l.index)
	if at < 0 {
		if !errors.Is(err, ErrNotLeased) {
			rt.Fatalf("release of what is not leased: %v", err)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	m.become(m.lives[at], free)
}

func (m *model) releaseGarbage(rt *rapid.T) {
	segment, index := rapid.Uint32Min(1000).Draw(rt, "segment"), rapid.Uint32().Draw(rt, "index")
	if err := m.arena.Release(segment, index); !errors.Is(err, ErrNotLeased) {
		rt.Fatalf("release of slot %d of segment %d: %v", index, segment, err)
	}
	if err := m.arena.Release(0, max(index, uint32(m.slots))); !errors.Is(err, ErrNotLeased) {
		rt.Fatalf("release of slot %d of the pool: %v", index, err)
	}
}

func (m *model) setWaiting(rt *rapid.T) {
	m.waiting = rapid.Bool().Draw(rt, "waiting")
	m.arena.SetWaiting(m.waiting)
}

// check compares the arena's numbers with the model's, and every slot in use with what
// was written into it.
func (m *model) check(rt *rapid.T) {
	if got, want := m.arena.Stats(), m.stats(); got != want {
		rt.Fatalf("Stats = %+v, want %+v", got, want)
	}
	for _, l := range m.lives {
		if l.state != free && !bytes.Equal(l.memory, bytes.Repeat([]byte{l.pattern}, len(l.memory))) {
			rt.Fatalf("slot %d of segment %d, which is %v, was overwritten", l.index, l.segment, l.state)
		}
	}
}

func (m *model) stats() Stats {
	s := Stats{
		Slots: m.slots, Free: m.slots,
		Filling: m.count(filling), Sealed: m.count(sealed), Leased: m.count(leased, taken),
	}
	segments := map[uint32]bool{}
	if len(m.lives) > 0 {
		segments[0] = true // the pool, once made, stays
	}
	for _, l := range m.lives {
		switch {
		case l.state == free:
		case l.pooled:
			s.Free--
		default:
			s.Unpooled++
		}
		if l.state != free {
			segments[l.segment], segments[l.home] = true, true
		}
	}
	for id := range maps.Keys(segments) {
		s.Bytes += m.announced[id].Bytes
	}
	return s
}

// end kills the consumer: the arena is closed whatever is under way, and only this
// process's own batches keep memory.
func (m *model) end(rt *rapid.T) {
	if err := m.arena.Close(); err != nil {
		rt.Fatal(err)
	}
	if err := m.arena.Close(); err != nil {
		rt.Fatalf("closed again: %v", err)
	}
	if _, err := m.arena.Reserve(m.ctx); !errors.Is(err, ErrClosed) {
		rt.Fatalf("Reserve after Close: %v", err)
	}
	kept := map[uint32]bool{}
	for _, l := range m.lives {
		switch l.state {
		case taken:
			kept[l.segment], kept[l.home] = true, true
		case filling, sealed, leased:
			m.become(l, free)
			if err := l.slot.Seal(); !errors.Is(err, ErrClosed) {
				rt.Fatalf("Seal after Close: %v", err)
			}
			if err := m.arena.Release(l.segment, l.index); !errors.Is(err, ErrClosed) && !errors.Is(err, ErrNotLeased) {
				rt.Fatalf("Release after Close: %v", err)
			}
		}
	}
	if Live() != len(kept) {
		rt.Fatalf("%d segments are mapped after Close, want %d", Live(), len(kept))
	}
	for _, l := range m.lives {
		if l.state != taken {
			continue
		}
		if !bytes.Equal(l.memory, bytes.Repeat([]byte{l.pattern}, len(l.memory))) {
			rt.Fatal("a taken slot did not survive Close")
		}
		if err := l.slot.Drop(); err != nil {
			rt.Fatal(err)
		}
	}
	if Live() != 0 {
		rt.Fatalf("%d segments are mapped after the last slot came back", Live())
	}
	if s := m.arena.Stats(); s != (Stats{Slots: m.slots}) {
		rt.Fatalf("Stats after everything came back: %+v", s)
	}
}
