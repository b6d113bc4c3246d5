package budget

import "fmt"

// Grant is a number of bytes that an item may hold. Copies are the same grant. The zero Grant is one of nothing, already released.
type Grant struct {
	b      *Budget
	id     int
	serial uint64
}

// Release gives the bytes back. Releasing again does nothing.
func (g Grant) Release() {
	if g.b == nil {
		return
	}
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	g.b.release(g)
	g.b.admit()
}

// release is Release under the lock, before others are admitted.
func (b *Budget) release(g Grant) {
	if h := b.holders.find(g.id, g.serial); h != nil {
		b.charge(h.purpose, -h.n)
		b.holders.remove(g.id)
	}
}

// Resize corrects the grant to n bytes, at once in either direction: who knows better holds the memory already, and to wait with it could be to
// wait for oneself. What that overshoots is part of [Stats]. A released grant stays released. Resize panics where n is negative.
func (g Grant) Resize(n int64) {
	if n < 0 {
		panic(fmt.Sprintf("budget: grant resized to %d bytes", n))
	}
	if g.b == nil {
		return
	}
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	if h := g.b.holders.find(g.id, g.serial); h != nil {
		g.b.charge(h.purpose, n-h.n)
		h.n = n
		g.b.admit()
	}
}

// Bytes is what the grant holds; 0 after its release.
func (g Grant) Bytes() int64 {
	if g.b == nil {
		return 0
	}
	g.b.mu.Lock()
	defer g.b.mu.Unlock()
	if h := g.b.holders.find(g.id, g.serial); h != nil {
		return h.n
	}
	return 0
}
