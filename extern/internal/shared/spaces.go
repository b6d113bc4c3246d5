package shared

import (
	"fmt"
	"github.com/headrace/headrace/extern/internal/message"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Space is memory that workers can map: the heap, or a segment.
type Space struct {
	Number uint64 // that means it in messages: HeapSpace is the heap
	FD     int
	of     any // of a segment: who told of it, and what he calls it
	id     uint32
	Memory []byte
}

// Spaces are all that a pool knows of. They are looked at for every pack, and seldom
// change.
type Spaces struct {
	mu   sync.Mutex
	last uint64
	all  atomic.Pointer[[]Space]
}

// HeapSpace is the heap's number among spaces.
const HeapSpace = 1

const mostSpaces = 1 << 15

// Init begins with the heap alone.
func (s *Spaces) Init(h *Heap) {
	s.last = HeapSpace
	s.all.Store(&[]Space{{Number: HeapSpace, FD: -1, Memory: h.Memory}})
}

// Add adds a segment of an owner and duplicates its descriptor. An id that the owner used
// before now refers to this memory.
func (s *Spaces) Add(of any, fd int, id uint32, memory []byte) error {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("extern: segment %d: %w", id, err)
	}
	s.drop(func(one Space) bool { return one.of == of && one.id == id })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last+1 >= mostSpaces {
		unix.Close(own)
		return fmt.Errorf("extern: more than %d segments", mostSpaces)
	}
	s.last++
	old := *s.all.Load()
	all := append(old[:len(old):len(old)], Space{Number: s.last, of: of, id: id, FD: own, Memory: memory})
	s.all.Store(&all)
	return nil
}

// Drop forgets an owner's segments and returns their numbers.
func (s *Spaces) Drop(of any) []uint64 {
	return s.drop(func(one Space) bool { return one.of == of })
}

// drop forgets segments.
func (s *Spaces) drop(which func(Space) bool) (numbers []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []Space
	for _, one := range *s.all.Load() {
		if one.Number != HeapSpace && which(one) {
			unix.Close(one.FD)
			numbers = append(numbers, one.Number)
			continue
		}
		kept = append(kept, one)
	}
	s.all.Store(&kept)
	return numbers
}

// Close lets go of all descriptors.
func (s *Spaces) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range *s.all.Load() {
		if one.FD >= 0 {
			unix.Close(one.FD)
		}
	}
	s.all.Store(&[]Space{})
}

// Find says where b is, as messages do; nil: in nothing that workers can map.
func (s *Spaces) Find(b []byte) (at uint64, in *Space) {
	if cap(b) == 0 {
		return 0, nil
	}
	all := *s.all.Load()
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for i := range all {
		offset := begin - uintptr(unsafe.Pointer(unsafe.SliceData(all[i].Memory)))
		if offset < uintptr(len(all[i].Memory)) && offset+uintptr(len(b)) <= uintptr(len(all[i].Memory)) {
			return all[i].Number<<message.PlaceBits | uint64(offset), &all[i]
		}
	}
	return 0, nil
}

// With calls f with the memory of that number, which stays as long as f runs.
func (s *Spaces) With(number uint64, f func(Space) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range *s.all.Load() {
		if one.Number == number {
			return f(one)
		}
	}
	return fmt.Errorf("extern: a segment was forgotten that is in use")
}
