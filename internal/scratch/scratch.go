// Package scratch lends memory for the length of a call, and keeps it for the next.
package scratch

import "sync"

// Keep is the size of the largest piece that is kept. A giant among pictures must not hold its memory until the garbage collector has come by
// twice, which it does the later the more is held; and what the giant costs to allocate is little beside decoding it.
const Keep = 64 << 20

// Pool is where the pieces are. Its zero value is ready.
type Pool struct{ pool sync.Pool }

// Take returns memory of n bytes that hold anything.
func (p *Pool) Take(n int) *[]byte {
	b, ok := p.pool.Get().(*[]byte)
	if !ok {
		b = new([]byte)
	}
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	*b = (*b)[:n]
	return b
}

// Give takes it back.
func (p *Pool) Give(b *[]byte) {
	if cap(*b) <= Keep {
		p.pool.Put(b)
	}
}
