package input

import (
	"sync"
	"sync/atomic"
)

// firsts is memory for the bytes at the beginning of files of a store, which come with
// their size. It is as large as the files are, within bounds: most take one request then.
type firsts struct {
	size atomic.Int64 // 0: leastFirst
	free sync.Pool    // of *[]byte
}

// Memory for as many files as are read at once is not part of the budget.
const (
	leastFirst = 128 << 10
	mostFirst  = 512 << 10
)

// take returns memory. Its user gives it back.
func (f *firsts) take() *[]byte {
	size := max(f.size.Load(), leastFirst)
	memory, ok := f.free.Get().(*[]byte)
	if !ok {
		memory = new([]byte)
	}
	if int64(len(*memory)) < size {
		*memory = make([]byte, size)
	}
	return memory
}

func (f *firsts) give(memory *[]byte) { f.free.Put(memory) }

// saw notes the size of a file.
func (f *firsts) saw(size int64) {
	if now := max(f.size.Load(), leastFirst); size > now && size <= mostFirst {
		f.size.CompareAndSwap(f.size.Load(), min(mostFirst, size+size/8))
	}
}
