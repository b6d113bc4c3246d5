// Package scratch lends memory for the length of a call, and keeps it for the next.
package scratch

import (
	"sync"
	"syscall"
	"unsafe"
)

// Keep is the size of the largest piece that is kept. A giant among images must not
// hold its memory until the garbage collector has come by twice, which it does the
// later the more is held; and what the giant costs to allocate is little beside
// decoding it.
const Keep = 16 << 20

// Memory is where pieces come from that are not Go's: memory that is shared with other
// processes. It keeps by itself what is to be kept.
type Memory interface {
	Take(n int) []byte
	Give(b []byte)
}

// Pool is where the pieces are. Its zero value is ready.
type Pool struct {
	From Memory // nil: Go's
	// Brief says that pieces are given back before the call ends that took them. Large
	// ones then go back to the system at once, and none waits for the garbage
	// collector. Nothing may refer to a piece after that.
	Brief bool

	pool sync.Pool
}

// Take returns memory of n bytes that hold anything.
func (p *Pool) Take(n int) *[]byte {
	if p.From != nil {
		return new(p.From.Take(n))
	}
	if p.Brief && n > Keep {
		return new(Make(n))
	}
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
	switch {
	case p.From != nil:
		p.From.Give(*b)
	case cap(*b) <= Keep:
		p.pool.Put(b)
	case p.Brief:
		Free(*b)
	}
}

// Make returns memory of n bytes, which is the system's where it is more than Keep.
func Make(n int) []byte {
	if n > Keep {
		if b, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON); err == nil {
			// In large pages the kernel hands it out in a fraction of the time. Where it
			// has none, nothing changes.
			_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
			return b
		}
	}
	return make([]byte, n)
}

// Free gives back what Make returned, if it is the system's. b may have been made
// shorter, at its end.
func Free(b []byte) {
	if cap(b) > Keep {
		_ = syscall.Munmap(b[:cap(b)]) // fails where it is Go's, and changes nothing then
	}
}

// Moved notes that what is in a piece is this from now on: a part of it, or Go's
// memory, where it has outgrown the piece.
func (p *Pool) Moved(b *[]byte, to []byte) {
	if unsafe.SliceData(to) != unsafe.SliceData(*b) {
		switch {
		case p.From != nil:
			p.From.Give(*b)
		case p.Brief:
			Free(*b)
		}
	}
	*b = to
}

// Grow makes room for n bytes in a piece, and keeps those that are in it.
func (p *Pool) Grow(b *[]byte, n int) {
	if n <= cap(*b) {
		return
	}
	larger := p.Take(n)
	*larger = (*larger)[:copy(*larger, *b)]
	*b, *larger = *larger, *b
	p.Give(larger)
}
