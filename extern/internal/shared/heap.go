package shared

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Align is what pieces begin at multiples of.
const Align = 64

const (
	chunkSize = 1 << 20   // pieces of one class are together in a chunk; larger ones have several to themselves
	punchSize = 256 << 10 // pieces from here on are given back to the system when many are idle
	idleKept  = 64 << 20  // bytes of them that may be idle besides as many as are in use
	classes   = 148
)

// Heap is memory that the engine shares with its worker processes: one file without a
// name, sparse, sealed, mapped once here and once in each worker.
//
// Pieces begin at multiples of 64 bytes and hold anything. A piece that was given back is
// used again for another of about its size; of large pieces only about as many stay
// resident as are in use. All methods may be called by several goroutines.
type Heap struct {
	File   *os.File
	Memory []byte
	held   atomic.Int64
	idle   atomic.Int64 // bytes of large free pieces that are resident
	kept   kept

	mu     sync.Mutex // guards what is below
	users  int        // who have yet to close it
	next   int        // first chunk that was never used
	class  []uint8    // by chunk: class of the pieces in it plus one; 0: within a larger piece, or unused
	free   [classes]freeList
	punch  int  // pieces whose memory is being given back to the system
	closed bool // no more pieces are given out
	gone   bool // and the memory is the system's again
}

// freeList holds the free pieces of a class by their offsets. The last one given back is
// taken first, because it may still be in a cache.
type freeList struct {
	warm, cold []int64 // cold ones have no memory after them
	fresh, end int64   // where the next piece is cut that was never used
}

// NewHeap makes a heap without a piece in use. Address space is taken for many times the
// machine's memory, since it costs nothing, and then nothing needs to be moved.
func NewHeap() (*Heap, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return nil, fmt.Errorf("extern: sysinfo: %w", err)
	}
	memory := max(1<<30, uint64(info.Totalram)*uint64(info.Unit))
	size := min(int64(64)<<bits.Len64(memory-1), 8<<40)
	for {
		h, err := newHeap(size)
		if err == nil || size <= 1<<30 {
			return h, err
		}
		size /= 2 // a limit of address space or of files' sizes
	}
}

func newHeap(size int64) (*Heap, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err == nil && uint64(size) > limit.Cur {
		// The system call would raise SIGXFSZ, which ends a Go program.
		return nil, fmt.Errorf("extern: this process may make files of %d bytes, and memory "+
			"that workers share counts as a file: raise the limit (ulimit -f)", limit.Cur)
	}

	file, err := createMemfd("headrace-heap")
	if err != nil {
		return nil, err
	}
	if err := unix.Ftruncate(int(file.Fd()), size); err != nil {
		file.Close()
		return nil, fmt.Errorf("extern: ftruncate: %w", err)
	}

	// A worker that could shrink the file would crash the engine.
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		file.Close()
		return nil, fmt.Errorf("extern: seal: %w", err)
	}

	memory, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("extern: mmap of %d bytes: %w", size, err)
	}

	unix.Madvise(memory, unix.MADV_DONTDUMP) // a core dump would walk through all of it
	return &Heap{File: file, Memory: memory, users: 1, class: make([]uint8, size/chunkSize)}, nil
}

// createMemfd makes a file without a name that programs which are executed do not
// inherit.
func createMemfd(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("extern: memfd_create: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Take returns n bytes that hold anything, whose capacity is that of the piece. It has
// always memory: should the heap have no more room, then such as workers cannot see,
// which is copied on its way to them.
func (h *Heap) Take(n int) []byte {
	class, size := classOf(n)
	if class < 0 {
		return make([]byte, n)
	}
	h.mu.Lock()
	at, cold, ok := h.take(class, size)
	if ok {
		h.held.Add(size) // before Close can see that nobody has a piece
	}
	h.mu.Unlock()
	if !ok {
		return make([]byte, n)
	}
	if size >= punchSize && !cold {
		h.idle.Add(-size)
	}
	return h.Memory[at : at+int64(n) : at+size]
}

// take finds a free piece. Those that were never used count as cold.
func (h *Heap) take(class int, size int64) (at int64, cold, ok bool) {
	if h.closed {
		return 0, false, false
	}

	s := &h.free[class]
	// The pages of a warm piece exist; a cold one costs page faults.
	if n := len(s.warm); n > 0 {
		at, s.warm = s.warm[n-1], s.warm[:n-1]
		return at, false, true
	}
	if n := len(s.cold); n > 0 {
		at, s.cold = s.cold[n-1], s.cold[:n-1]
		return at, true, true
	}

	if s.fresh+size > s.end {
		chunks := int((size + chunkSize - 1) / chunkSize)
		if h.next+chunks > len(h.class) {
			return 0, false, false
		}
		h.class[h.next] = uint8(class + 1)
		s.fresh = int64(h.next) * chunkSize
		s.end = s.fresh + int64(chunks)*chunkSize
		h.next += chunks
	}

	at = s.fresh
	s.fresh += size
	if size > chunkSize {
		s.fresh = s.end // one to its chunks
	}
	return at, true, true
}

// Give takes back the piece that contains b. It ignores memory outside the heap. The
// piece must not be used any more.
func (h *Heap) Give(b []byte) {
	at, ok := h.Offset(b)
	if !ok {
		return
	}
	h.kept.leave(at)

	h.mu.Lock()
	if h.gone { // the address is another's now
		h.mu.Unlock()
		return
	}

	// Within a large piece only the first chunk has the class.
	chunk := at / chunkSize
	for chunk > 0 && h.class[chunk] == 0 {
		chunk--
	}
	class := int(h.class[chunk]) - 1
	if class < 0 {
		h.mu.Unlock()
		return
	}

	size := classSize(class)
	if h.closed {
		h.held.Add(-size)
		h.unmapUnused()
		h.mu.Unlock()
		return
	}

	at = chunk*chunkSize + (at-chunk*chunkSize)/size*size
	s := &h.free[class]
	s.warm = append(s.warm, at)
	h.held.Add(-size)

	var punch [2]int64
	n := 0
	if size >= punchSize {
		h.idle.Add(size)
		// Two go for each that comes, so that what is idle follows what is in use.
		for n < len(punch) && len(s.warm) > 0 && h.idle.Load() > idleKept+h.held.Load() {
			punch[n], s.warm = s.warm[len(s.warm)-1], s.warm[:len(s.warm)-1]
			h.idle.Add(-size)
			n++
		}
	}
	h.punch += n
	h.mu.Unlock()

	for _, at := range punch[:n] {
		// Not under the lock, for it takes long; the piece is nobody's meanwhile.
		unix.Fallocate(int(h.File.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, size)
	}

	if n > 0 {
		h.mu.Lock()
		s.cold = append(s.cold, punch[:n]...)
		if h.punch -= n; h.closed {
			h.unmapUnused()
		}
		h.mu.Unlock()
	}
}

// Has tells whether all of b is memory of the heap, which workers see without a copy.
func (h *Heap) Has(b []byte) bool {
	at, ok := h.Offset(b)
	return ok && at+int64(len(b)) <= int64(len(h.Memory))
}

// Held is the number of bytes in use. Pieces are somewhat larger than was asked for.
func (h *Heap) Held() int64 { return h.held.Load() }

// Close gives the memory back to the system: now, or when the last piece has come back
// that is in use. No pool may run on it any more. What Take returns from now on is Go's
// memory. A [Common] heap is closed by the last of its users.
func (h *Heap) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users--; h.users > 0 {
		return nil
	}
	h.closed = true
	return h.unmapUnused()
}

// join adds a user, unless the last one has closed the heap.
func (h *Heap) join() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.users++
	return true
}

// unmapUnused unmaps the heap if none of its pieces is in use. The caller holds mu.
func (h *Heap) unmapUnused() error {
	if h.gone || h.punch > 0 || h.held.Load() > 0 {
		return nil
	}
	h.gone = true
	return errors.Join(unix.Munmap(h.Memory), h.File.Close())
}

// Offset returns the offset of b in the heap, and false for memory outside it or without
// capacity.
func (h *Heap) Offset(b []byte) (int64, bool) {
	if cap(b) == 0 {
		return 0, false
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(h.Memory)))
	return int64(at), at < uintptr(len(h.Memory))
}

// classOf returns the smallest class whose pieces have n bytes. There are four classes
// for each power of two, so at most a fifth of a piece is unused; small ones are
// multiples of 64. It returns -1 if n is too large.
func classOf(n int) (class int, size int64) {
	units := uint64(max(1, (n+Align-1)/Align))
	if n < 0 || units > 1<<38 {
		return -1, 0
	}
	if units <= 4 {
		return int(units) - 1, int64(units) * Align
	}
	// units is in (2^k, 2^(k+1)], which is cut in four.
	k := bits.Len64(units-1) - 1
	step := uint64(1) << (k - 2)
	quarter := (units - 1 - 1<<k) / step
	return 4 + (k-2)*4 + int(quarter), int64((1<<k)+(quarter+1)*step) * Align
}

// classSize is the number of bytes of a class's pieces.
func classSize(class int) int64 {
	if class < 4 {
		return int64(class+1) * Align
	}
	k, quarter := (class-4)/4+2, int64((class-4)%4)
	return (int64(1)<<k + (quarter+1)<<(k-2)) * Align
}
