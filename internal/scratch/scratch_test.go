package scratch_test

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/headrace/headrace/internal/scratch"
)

func TestPool(t *testing.T) {
	var p scratch.Pool
	for _, n := range []int{0, 10, 1000, 5} {
		b := p.Take(n)
		if len(*b) != n {
			t.Errorf("%d bytes instead of %d", len(*b), n)
		}
		p.Give(b)
	}
}

func TestPoolKeepsNoGiants(t *testing.T) {
	var p scratch.Pool
	p.Give(p.Take(scratch.Keep + 1))
	for range 100 { // a pool may keep things in several places
		if b := p.Take(0); cap(*b) > scratch.Keep {
			t.Fatalf("%d bytes were kept", cap(*b))
		}
	}
}

// A large piece is the system's, so that nothing waits for the collector; what is in it
// moves with it.
func TestLargePiecesGoBackAtOnce(t *testing.T) {
	p := scratch.Pool{Brief: true}
	b := p.Take(3)
	copy(*b, "abc")
	p.Grow(b, scratch.Keep+1)
	if string(*b) != "abc" || cap(*b) <= scratch.Keep {
		t.Fatalf("%q, room for %d", *b, cap(*b))
	}
	first := &(*b)[0]
	p.Grow(b, scratch.Keep)
	if &(*b)[0] != first {
		t.Error("moved, though there was room")
	}
	p.Grow(b, 2*scratch.Keep)
	if string(*b) != "abc" {
		t.Errorf("%q", *b)
	}
	if !resident(t, *b) {
		t.Fatal("the test cannot see mappings")
	}
	piece := *b
	outgrown := append([]byte(nil), *b...)
	p.Moved(b, outgrown)
	if resident(t, piece) {
		t.Error("an outgrown piece is still mapped")
	}
	p.Give(b)
	for range 10 {
		piece := p.Take(2 * scratch.Keep)
		at := *piece
		p.Give(piece)
		if resident(t, at) {
			t.Fatal("a piece that was given back is still mapped")
		}
	}
}

// resident reports whether the memory of a piece is mapped.
func resident(t *testing.T, piece []byte) bool {
	t.Helper()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(piece)))
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, scratch.Keep, syscall.MADV_NORMAL)
	return errno != syscall.ENOMEM
}
