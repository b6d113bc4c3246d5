package extern

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cell is shared memory in which a worker records its progress: the number of the pack
// and of the sample in it, the time it began, and for a chain the function.
type cell []byte

const cellBytes = 32

func (c cell) word(i int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&c[8*i])) }

// inWork returns the sample in progress and the time it began, for a pack of which
// reported samples have already come back.
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

// function returns the index of the chain's function that is running.
func (c cell) function() uint64 { return c.word(2).Load() }

// monotonic is the clock of the cells, in which workers write since when they work.
func monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return math.MinInt64
	}
	return time.Duration(now.Nano())
}
