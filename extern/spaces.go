package extern

import (
	"fmt"
	"headrace/extern/internal/message"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// space is memory that workers can map: the heap, or a segment.
type space struct {
	number uint64 // that stands for it in messages: 1 is the heap
	id     uint32 // of a segment
	fd     int
	memory []byte
}

// spaces are all that a pool was told of. They are looked at for every pack, and seldom change.
type spaces struct {
	mu   sync.Mutex
	last uint64
	all  atomic.Pointer[[]space]
}

const (
	heapSpace  = 1
	mostSpaces = 1 << 15
)

func (s *spaces) init(h *Heap) {
	s.last = heapSpace
	s.all.Store(&[]space{{number: heapSpace, fd: -1, memory: h.memory}})
}

func (s *spaces) add(fd int, id uint32, memory []byte) error {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("extern: segment %d: %w", id, err)
	}
	s.drop(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last+1 >= mostSpaces {
		unix.Close(own)
		return fmt.Errorf("extern: more than %d segments", mostSpaces)
	}
	s.last++
	old := *s.all.Load()
	all := append(old[:len(old):len(old)], space{number: s.last, id: id, fd: own, memory: memory})
	s.all.Store(&all)
	return nil
}

func (s *spaces) drop(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []space
	for _, one := range *s.all.Load() {
		if one.number != heapSpace && one.id == id {
			unix.Close(one.fd)
			continue
		}
		kept = append(kept, one)
	}
	s.all.Store(&kept)
}

func (s *spaces) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range *s.all.Load() {
		if one.fd >= 0 {
			unix.Close(one.fd)
		}
	}
	s.all.Store(&[]space{})
}

// find says where b lies, as messages do; nil: in nothing that workers can map.
func (s *spaces) find(b []byte) (at uint64, in *space) {
	if cap(b) == 0 {
		return 0, nil
	}
	all := *s.all.Load()
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for i := range all {
		offset := begin - uintptr(unsafe.Pointer(unsafe.SliceData(all[i].memory)))
		if offset < uintptr(len(all[i].memory)) && offset+uintptr(len(b)) <= uintptr(len(all[i].memory)) {
			return all[i].number<<message.PlaceBits | uint64(offset), &all[i]
		}
	}
	return 0, nil
}

// with calls f with the memory of that number, which stays as long as f runs.
func (s *spaces) with(number uint64, f func(space) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range *s.all.Load() {
		if one.number == number {
			return f(one)
		}
	}
	return fmt.Errorf("extern: a segment was forgotten that is in use")
}
