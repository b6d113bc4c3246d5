package shared

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestClasses(t *testing.T) {
	before := int64(0)
	for class := range classes {
		size := classSize(class)
		if size <= before || size%Align != 0 {
			t.Fatalf("class %d has pieces of %d bytes, the one before of %d", class, size, before)
		}
		for _, n := range []int64{before + 1, size} {
			if c, s := classOf(int(n)); c != class || s != size {
				t.Fatalf("%d bytes are of class %d (%d bytes), not %d (%d)", n, c, s, class, size)
			}
		}
		if before >= 4*Align && float64(size-before) > 0.26*float64(before) {
			t.Errorf("from %d to %d is a large step", before, size)
		}
		before = size
	}
	for _, n := range []int{-1, 1 << 60} {
		if c, _ := classOf(n); c != -1 {
			t.Errorf("%d bytes are of class %d", n, c)
		}
	}
}

// Pieces in use never overlap, and keep what was written there.
func TestHeapModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := newHeap(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		var pieces [][]byte
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(pieces) > 0 && rapid.Bool().Draw(t, "give") {
				i := rapid.IntRange(0, len(pieces)-1).Draw(t, "which")
				p := pieces[i]
				for _, b := range [][]byte{p[:1], p[len(p)-1:]} {
					if b[0] != p[len(p)/2] {
						t.Fatal("somebody else has written there")
					}
				}
				from := rapid.IntRange(0, min(len(p)-1, 63)).Draw(t, "from")
				h.Give(p[from:])
				pieces = append(pieces[:i], pieces[i+1:]...)
				continue
			}
			n := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 3<<20), rapid.IntRange(1, 100<<10)).Draw(t, "bytes")
			p := h.Take(n)
			if len(p) != n || !h.Has(p) {
				t.Fatalf("%d bytes instead of %d", len(p), n)
			}
			p[0], p[n-1], p[n/2] = byte(step), byte(step), byte(step)
			pieces = append(pieces, p)
		}
		for _, p := range pieces {
			h.Give(p)
		}
		if n := h.Held(); n != 0 {
			t.Fatalf("%d bytes are in use", n)
		}
	})
}

// What is idle is given back to the system beyond as much as is in use.
func TestHeapGivesPagesBack(t *testing.T) {
	h, err := NewHeap()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var all [][]byte
	for range 100 {
		b := h.Take(4 << 20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
	}
	if n := resident(t, h); n < 400<<20 {
		t.Fatalf("%d bytes are resident of 400 MiB that were written", n)
	}
	for _, b := range all {
		h.Give(b)
	}
	if n := resident(t, h); n > 100<<20 {
		t.Errorf("%d bytes are resident, and none in use", n)
	}
	for range 2 { // and then it goes on
		b := h.Take(4 << 20)
		b[0] = 1
		h.Give(b)
	}
}

func resident(t *testing.T, h *Heap) int64 {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Fstat(int(h.File.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	return s.Blocks * 512
}

func TestHeapWithoutRoom(t *testing.T) {
	h, err := newHeap(4 << 20)
	if err != nil {
		t.Fatal(err)
	}
	b := h.Take(100 << 20)
	if len(b) != 100<<20 || h.Has(b) {
		t.Error("a piece is larger than the heap")
	}
	h.Give(b)
	h.Give(nil)
	h.Give([]byte("not of the heap"))
	if h.Held() != 0 {
		t.Errorf("%d bytes are in use", h.Held())
	}
	h.Close()
	if b := h.Take(10); len(b) != 10 || h.Has(b) {
		t.Error("a heap that is closed gives memory")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestHeapUnderALimitOfFiles(t *testing.T) {
	if os.Getenv("EXTERN_TEST_ENGINE") != "" {
		return
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 2 << 30
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &low); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
	h, err := NewHeap()
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if n := len(h.Memory); n > 2<<30 {
		t.Errorf("a heap of %d bytes", n)
	}
}

// A heap that is closed while pieces of it are in use, by operations that nobody waits
// for any more, stays until the last has come back.
func TestHeapClosesWithItsLastPiece(t *testing.T) {
	for _, size := range []int{100, 1 << 20} {
		h, err := newHeap(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 200 {
					b := h.Take(size)
					b[0], b[size-1] = 1, 1 // would crash where nothing is mapped
					h.Give(b)
				}
			})
		}
		last := h.Take(size)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
		last[0] = 1
		if h.gone || h.Held() == 0 {
			t.Fatal("it was ended while a piece was in use")
		}
		h.Give(last)
		if !h.gone || h.Held() != 0 {
			t.Errorf("%d bytes are in use", h.Held())
		}
		h.Give(last) // nobody has it any more
	}
}
