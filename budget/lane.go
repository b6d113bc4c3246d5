package budget

import (
	"context"
	"fmt"
)

// Lane is a line of items, those of one source: the oldest of every lane is always
// admitted. Items of different lanes are in no order, so that the item for which a
// merge waits is never after those that wait for the merge. [Budget.Lane] makes it.
type Lane struct {
	b       *Budget
	holders holders
	waiters waiters
}

// Lane returns another lane. There are few, and they last as long as the budget.
func (b *Budget) Lane() *Lane {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &Lane{b: b}
	b.lanes = append(b.lanes, l)
	return l
}

// Another returns another lane of the same budget.
func (l *Lane) Another() *Lane { return l.b.Lane() }

// Limit is how many bytes all lanes have together.
func (l *Lane) Limit() int64 { return l.b.limit }

// Reserve is [Budget.Reserve].
func (l *Lane) Reserve(purpose Purpose, n int64) error { return l.b.Reserve(purpose, n) }

// Acquire waits until n bytes are free or no older item of the lane holds or awaits
// any, and grants them to the item called order. An item may hold several grants.
// Acquire fails only when ctx ends, and then leaves nothing after. It panics where n
// is negative.
func (l *Lane) Acquire(ctx context.Context, order uint64, purpose Purpose, n int64) (Grant, error) {
	if n < 0 {
		panic(fmt.Sprintf("budget: %d bytes acquired for %q", n, purpose))
	}
	if ctx.Err() != nil {
		return Grant{}, context.Cause(ctx)
	}
	b := l.b
	b.mu.Lock()
	if !l.waiters.olderThan(order) && (l.leads(order) || b.fits(n) && !b.othersWait(l)) {
		defer b.mu.Unlock()
		return l.grant(order, purpose, n), nil
	}
	b.arrivals++
	w := l.waiters.add(order, b.arrivals, purpose, n)
	b.waiting++
	b.admit() // whom a younger waiter of this lane kept waiting
	b.mu.Unlock()
	return l.await(ctx, w)
}

// Charge grants n bytes that an item has already, and does not wait.
func (l *Lane) Charge(order uint64, purpose Purpose, n int64) Grant {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	return l.grant(order, purpose, n)
}

func (l *Lane) await(ctx context.Context, w *waiter) (Grant, error) {
	select {
	case <-w.admitted:
		return w.grant, nil
	case <-ctx.Done():
	}
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.at == nowhere { // admitted in the meantime: the caller does not want it any more
		b.release(w.grant)
	} else {
		l.waiters.remove(w)
		b.waiting--
	}
	b.admit() // whom this waiter kept waiting
	return Grant{}, context.Cause(ctx)
}

// leads tells whether no older item of the lane holds anything. A holder of the same
// order is the item itself.
func (l *Lane) leads(order uint64) bool {
	oldest, held := l.holders.oldest()
	return !held || order <= oldest
}

func (l *Lane) grant(order uint64, purpose Purpose, n int64) Grant {
	b := l.b
	p := b.purpose(purpose)
	b.charge(p, n)
	b.purposes[p].Grants++
	if b.used > b.limit {
		b.forced++
	}
	id, serial := l.holders.add(order, p, n)
	return Grant{lane: l, id: id, serial: serial}
}

func (b *Budget) fits(n int64) bool { return n <= b.limit-b.used }

func (b *Budget) othersWait(l *Lane) bool { return b.waiting > l.waiters.len() }

// admit grants to whoever leads its lane, and then to the heads of the lanes as they
// came, up to the first that has to go on waiting.
func (b *Budget) admit() {
	for b.waiting > 0 {
		l := b.next()
		if l == nil {
			return
		}
		w := l.waiters.oldest()
		l.waiters.remove(w)
		b.waiting--
		w.grant = l.grant(w.order, w.purpose, w.n)
		close(w.admitted)
	}
}

// next is the lane whose head is to be admitted now; nil: none.
func (b *Budget) next() (first *Lane) {
	for _, l := range b.lanes {
		w := l.waiters.oldest()
		if w == nil {
			continue
		}
		if l.leads(w.order) {
			return l
		}
		if first == nil || w.arrival < first.waiters.oldest().arrival {
			first = l
		}
	}
	if first == nil || !b.fits(first.waiters.oldest().n) {
		return nil
	}
	return first
}
