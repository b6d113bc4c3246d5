package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrTooSmall is what Reserve's refusals wrap.
var ErrTooSmall = errors.New("budget: too small")

// Purpose names what bytes are held for, in statistics and errors: "read", "batch". Purposes are few, and fixed in the program's text.
type Purpose string

// Budget is a number of bytes that its users share. Make one with [New].
type Budget struct {
	limit int64

	mu       sync.Mutex
	used     int64 // granted, and reserved
	reserved int64
	peak     int64
	forced   int64 // grants that did not fit, admitted because theirs was the oldest item
	purposes []PurposeStats
	holders  holders
	waiters  waiters
}

// New returns a budget of limit bytes. One without a positive limit admits the oldest item alone.
func New(limit int64) *Budget { return &Budget{limit: max(0, limit)} }

// Acquire waits until n bytes are free or no older item holds or awaits any, and grants them to the item called order. An item may hold several
// grants. Acquire fails only when ctx ends, and then leaves nothing behind. It panics where n is negative.
func (b *Budget) Acquire(ctx context.Context, order uint64, purpose Purpose, n int64) (Grant, error) {
	if n < 0 {
		panic(fmt.Sprintf("budget: %d bytes acquired for %q", n, purpose))
	}
	if ctx.Err() != nil {
		return Grant{}, context.Cause(ctx)
	}
	b.mu.Lock()
	if b.waiters.olderThan(order) || !b.admissible(order, n) {
		w := b.waiters.add(order, purpose, n)
		b.mu.Unlock()
		return b.await(ctx, w)
	}
	defer b.mu.Unlock()
	return b.grant(order, purpose, n), nil
}

func (b *Budget) await(ctx context.Context, w *waiter) (Grant, error) {
	select {
	case <-w.admitted:
		return w.grant, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.at == nowhere { // admitted in the meantime: the caller does not want it any more
		b.release(w.grant)
	} else {
		b.waiters.remove(w)
	}
	b.admit() // whom this waiter kept waiting
	return Grant{}, context.Cause(ctx)
}

// admit grants in order, up to the first who has to go on waiting.
func (b *Budget) admit() {
	for w := b.waiters.oldest(); w != nil && b.admissible(w.order, w.n); w = b.waiters.oldest() {
		b.waiters.remove(w)
		w.grant = b.grant(w.order, w.purpose, w.n)
		close(w.admitted)
	}
}

// admissible tells whether the item, the oldest of those that wait, may have n bytes more. A holder of the same order is the item itself.
func (b *Budget) admissible(order uint64, n int64) bool {
	oldest, held := b.holders.oldest()
	return n <= b.limit-b.used || !held || order <= oldest
}

func (b *Budget) grant(order uint64, purpose Purpose, n int64) Grant {
	p := b.purpose(purpose)
	b.charge(p, n)
	b.purposes[p].Grants++
	if b.used > b.limit {
		b.forced++
	}
	id, serial := b.holders.add(order, p, n)
	return Grant{b: b, id: id, serial: serial}
}

// charge changes what the purpose holds by n bytes.
func (b *Budget) charge(purpose int, n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
	p := &b.purposes[purpose]
	p.Used += n
	p.Peak = max(p.Peak, p.Used)
}

// purpose finds the purpose's place in the statistics. A list, because there are half a dozen and a map would cost more.
func (b *Budget) purpose(name Purpose) int {
	for i := range b.purposes {
		if b.purposes[i].Purpose == name {
			return i
		}
	}
	b.purposes = append(b.purposes, PurposeStats{Purpose: name})
	return len(b.purposes) - 1
}
