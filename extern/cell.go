package extern

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// cell is memory in the heap in which a worker writes what a lane works on: the number of
// the pack and of the sample in it, and since when; of a chain, in which function.
type cell []byte

const cellBytes = 32

func (c cell) word(i int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&c[8*i])) }

// inWork tells which sample of a pack is in work, of which so many have come back, and
// since when.
func (c cell) inWork(pack uint32, reported int64) (item int, began time.Duration, ok bool) {
	what, since := c.word(0), c.word(1)
	for {
		w := what.Load()
		s := since.Load()
		if what.Load() != w {
			continue
		}
		number, at := uint32(w>>32), int64(uint32(w))-1
		if number != pack || at < reported {
			return 0, 0, false
		}
		return int(at), time.Duration(s), true
	}
}

// function is the one of a chain that the lane is in.
func (c cell) function() uint64 { return c.word(2).Load() }
