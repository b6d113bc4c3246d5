package shared

import (
	"fmt"
	"headrace/extern/internal/message"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Space is memory that workers can map: the heap, or a segment.
type Space struct {
	Number uint64 // that means it in messages: HeapSpace is the heap
	FD     int
	id     uint32 // of a segment
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

// Add adds a segment. Its descriptor is duplicated. An id that came before means
// this memory now.
func (s *Spaces) Add(fd int, id uint32, memory []byte) error {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("extern: segment %d: %w", id, err)
	}
	s.Drop(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last+1 >= mostSpaces {
		unix.Close(own)
		return fmt.Errorf("extern: more than %d segments", mostSpaces)
	}
	s.last++
	old := *s.all.Load()
	all := append(old[:len(old):len(old)], Space{Number: s.last, id: id, FD: own, Memory: memory})
	s.all.Store(&all)
	return nil
}

// Drop forgets a segment.
func (s *Spaces) Drop(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []Space
	for _, one := range *s.all.Load() {
		if one.Number != HeapSpace && one.id == id {
			unix.Close(one.FD)
			continue
		}
		kept = append(kept, one)
	}
	s.all.Store(&kept)
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
