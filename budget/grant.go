package budget

import "fmt"

// Grant is a number of bytes that an item may hold. Copies are the same grant. The zero
// Grant is one of nothing, already released.
type Grant struct {
	lane   *Lane
	id     int
	serial uint64
}

// Release gives the bytes back. Releasing again does nothing.
func (g Grant) Release() {
	if g.lane == nil {
		return
	}
	b := g.lane.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(g)
	b.admit()
}

// release is Release under the lock, before others are admitted.
func (b *Budget) release(g Grant) {
	if h := g.lane.holders.find(g.id, g.serial); h != nil {
		b.charge(h.purpose, -h.n)
		g.lane.holders.remove(g.id)
	}
}

// Park says that the item waits for others of its kind: in a bucket, until a batch is
// full. Its bytes still count, but it is no longer one for which younger items wait,
// since it may be waiting for them. Parking again, or after the release, does nothing.
func (g Grant) Park() {
	if g.lane == nil {
		return
	}
	b := g.lane.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := g.lane.holders.find(g.id, g.serial); h != nil && h.at != nowhere {
		g.lane.holders.park(g.id)
		b.admit()
	}
}

// Move makes the grant one of an item of another lane of the budget, called order there.
// A released one stays as it is, and a parked one is parked no longer.
func (g Grant) Move(to *Lane, order uint64) Grant {
	if g.lane == nil {
		return g
	}
	b := g.lane.b
	b.mu.Lock()
	defer b.mu.Unlock()
	h := g.lane.holders.find(g.id, g.serial)
	if h == nil {
		return g
	}
	id, serial := to.holders.add(order, h.purpose, h.n)
	g.lane.holders.remove(g.id)
	b.admit() // who waited for it in its lane
	return Grant{lane: to, id: id, serial: serial}
}

// Resize corrects the grant to n bytes, at once in either direction: who knows better
// holds the memory already, and to wait with it could be to wait for oneself. What that
// overshoots is part of [Stats]. A released grant stays released. Resize panics where n
// is negative.
func (g Grant) Resize(n int64) {
	if n < 0 {
		panic(fmt.Sprintf("budget: grant resized to %d bytes", n))
	}
	if g.lane == nil {
		return
	}
	b := g.lane.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := g.lane.holders.find(g.id, g.serial); h != nil {
		b.charge(h.purpose, n-h.n)
		h.n = n
		b.admit()
	}
}

// Bytes is what the grant holds; 0 after its release.
func (g Grant) Bytes() int64 {
	if g.lane == nil {
		return 0
	}
	g.lane.b.mu.Lock()
	defer g.lane.b.mu.Unlock()
	if h := g.lane.holders.find(g.id, g.serial); h != nil {
		return h.n
	}
	return 0
}
