package budget

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// The model walks random histories of a budget beside two plain lists. Every
// acquisition is a goroutine of the bubble, so that who waits and who does not is
// exact.
func TestModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(withoutDeadline{t}, func(rt *rapid.T) {
			limit := rapid.Int64Range(0, 100).Draw(rt, "limit")
			m := &model{ctx: t.Context(), budget: New(limit), limit: limit}
			m.lanes = []*Lane{m.budget.first, m.budget.Lane(), m.budget.Lane()}
			defer m.end(rt)
			rt.Repeat(map[string]func(*rapid.T){
				"acquire":   m.acquire,
				"acquire 2": m.acquire, // as often as the two that take away
				"cancel":    m.cancel,
				"release":   m.release,
				"resize":    m.resize,
				"park":      m.park,
				"reserve":   m.reserve,
				"unreserve": m.unreserve,
				"":          m.check,
			})
		})
	})
}

// withoutDeadline hides the test's deadline from rapid: it is in the world's time, and
// asking for it inside a bubble panics.
type withoutDeadline struct{ testing.TB }

type model struct {
	ctx      context.Context
	budget   *Budget
	lanes    []*Lane
	limit    int64
	used     int64
	reserved int64
	peak     int64
	forced   int64
	holders  []*request
	waiters  []*request // in the order of their coming
	done     []*request
}

// request is an acquisition, as the model sees it and as its goroutine does.
type request struct {
	lane    int
	order   uint64
	parked  bool
	n       int64
	cancel  context.CancelCauseFunc
	grant   Grant
	err     error
	arrived bool // Acquire has returned
}

var errCancelled = errors.New("cancelled")

func (m *model) acquire(rt *rapid.T) {
	r := &request{
		lane:  rapid.IntRange(0, len(m.lanes)-1).Draw(rt, "lane"),
		order: rapid.Uint64Range(0, 6).Draw(rt, "order"),
		n:     rapid.Int64Range(0, 60).Draw(rt, "n"),
	}
	ctx, cancel := context.WithCancelCause(m.ctx)
	r.cancel = cancel
	go func() {
		r.grant, r.err = m.lanes[r.lane].Acquire(ctx, r.order, "item", r.n)
		r.arrived = true
	}()
	m.waiters = append(m.waiters, r)
	m.admit()
}

// admit is the rule, in its plainest form: first whoever leads its lane, then the heads
// of the lanes as they came, while they fit.
func (m *model) admit() {
	for {
		var heads []*request
		for lane := range m.lanes {
			if line := slices.DeleteFunc(slices.Clone(m.waiters), func(w *request) bool { return w.lane != lane }); len(line) > 0 {
				// the first of equals
				heads = append(heads, slices.MinFunc(line, func(a, b *request) int { return cmp.Compare(a.order, b.order) }))
			}
		}
		i := slices.IndexFunc(heads, m.leads)
		if i < 0 {
			come := func(r *request) int { return slices.Index(m.waiters, r) }
			slices.SortFunc(heads, func(a, b *request) int { return come(a) - come(b) })
			if i = 0; len(heads) == 0 || m.used+heads[0].n > m.limit {
				return
			}
		}
		m.admitOne(heads[i])
	}
}

func (m *model) leads(r *request) bool {
	return !slices.ContainsFunc(m.holders, func(h *request) bool { return h.lane == r.lane && h.order < r.order && !h.parked })
}

func (m *model) admitOne(r *request) {
	m.waiters = slices.DeleteFunc(m.waiters, func(w *request) bool { return w == r })
	m.holders = append(m.holders, r)
	m.use(r.n)
	if m.used > m.limit {
		m.forced++
	}
}

func (m *model) use(n int64) {
	m.used += n
	m.peak = max(m.peak, m.used)
}

func (m *model) cancel(rt *rapid.T) {
	if len(m.waiters) == 0 {
		return
	}
	r := rapid.SampledFrom(m.waiters).Draw(rt, "waiter")
	r.cancel(errCancelled)
	m.waiters = slices.DeleteFunc(m.waiters, func(w *request) bool { return w == r })
	m.admit()
	synctest.Wait()
	if !r.arrived || r.err != errCancelled || r.grant != (Grant{}) {
		rt.Fatalf("cancelled: %+v", r)
	}
}

func (m *model) release(rt *rapid.T) {
	if len(m.holders) == 0 {
		return
	}
	r := rapid.SampledFrom(m.holders).Draw(rt, "holder")
	r.grant.Release()
	m.holders = slices.DeleteFunc(m.holders, func(h *request) bool { return h == r })
	m.done = append(m.done, r)
	m.used -= r.n
	m.admit()
}

func (m *model) resize(rt *rapid.T) {
	n := rapid.Int64Range(0, 60).Draw(rt, "n")
	if len(m.done) > 0 { // changes nothing any more, whoever has its record now
		r := rapid.SampledFrom(m.done).Draw(rt, "done")
		r.grant.Resize(n)
		r.grant.Release()
	}
	if len(m.holders) == 0 {
		return
	}
	r := rapid.SampledFrom(m.holders).Draw(rt, "holder")
	r.grant.Resize(n)
	m.use(n - r.n)
	r.n = n
	m.admit()
}

func (m *model) park(rt *rapid.T) {
	if len(m.done) > 0 {
		rapid.SampledFrom(m.done).Draw(rt, "done").grant.Park()
	}
	if len(m.holders) == 0 {
		return
	}
	r := rapid.SampledFrom(m.holders).Draw(rt, "holder")
	r.grant.Park()
	r.parked = true
	m.admit()
}

func (m *model) reserve(rt *rapid.T) {
	n := rapid.Int64Range(0, 60).Draw(rt, "n")
	err := m.budget.Reserve("pool", n)
	if m.reserved+n > m.limit {
		want := TooSmallError{Purpose: "pool", Need: n, Reserved: m.reserved, Limit: m.limit}
		var got *TooSmallError
		if !errors.As(err, &got) || *got != want || !errors.Is(err, ErrTooSmall) {
			rt.Fatalf("Reserve: %v, want %+v", err, want)
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	m.reserved += n
	m.use(n)
}

func (m *model) unreserve(rt *rapid.T) {
	n := rapid.Int64Range(0, m.reserved).Draw(rt, "n")
	m.budget.Unreserve("pool", n)
	m.reserved -= n
	m.used -= n
	m.admit()
}

// check waits until every goroutine stands still, and compares who has what.
func (m *model) check(rt *rapid.T) {
	synctest.Wait()
	for _, r := range m.waiters {
		if r.arrived {
			rt.Fatalf("%+v was admitted, and should wait", r)
		}
	}
	for _, r := range m.holders {
		if !r.arrived || r.err != nil || r.grant.Bytes() != r.n {
			rt.Fatalf("%+v has %d bytes", r, r.grant.Bytes())
		}
	}
	s := m.budget.Stats()
	if s.Used != m.used || s.Peak != m.peak || s.Forced != m.forced || s.Waiting != len(m.waiters) || s.Limit != m.limit {
		rt.Fatalf("%+v, want used %d, peak %d, forced %d, %d waiting", s, m.used, m.peak, m.forced, len(m.waiters))
	}
	if m.budget.Unreserved() != m.limit-m.reserved {
		rt.Fatalf("unreserved %d", m.budget.Unreserved())
	}
	used := m.budget.ByPurpose()
	if used["pool"] != m.reserved || used["item"] != m.used-m.reserved {
		rt.Fatalf("%v, want %d in the pool and %d together", used, m.reserved, m.used)
	}
}

func (m *model) end(rt *rapid.T) {
	for len(m.waiters) > 0 {
		m.cancel(rt)
	}
	for len(m.holders) > 0 {
		m.release(rt)
	}
	m.budget.Unreserve("pool", m.reserved)
	wantEmpty(rt, m.budget)
}
