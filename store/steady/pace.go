package steady

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/internal/node"
)

// pace limits the requests that a host gets at once, from all processes of this node.
//
// Each says how many requests it has, and may have the rest of the limit, or its equal
// part if they leave less: it is given back as their requests end.
type pace struct{ page *node.Page }

// The numbers that all processes share.
const (
	windowBits = iota // requests at once, as the bits of a float64; 0: the first ones
	cutAt             // of the last failure that halved it, in Unix nanoseconds
	pausedTo          // until when nothing is sent
	highBits          // what the window was when a failure halved it first, as windowBits; 0: it was not
)

func newPace(host string) pace { return pace{node.Share("requests to " + host)} }

func (p pace) window() float64 {
	if bits := p.page.Common(windowBits).Load(); bits != 0 {
		return min(max(math.Float64frombits(uint64(bits)), 1), mostAtOnce)
	}
	return atFirst
}

// has says how many requests this process has.
func (p pace) has(n int) { p.page.Mine().Store(int64(n)) }

// share returns the number of requests that this process may have, one at least, and the
// number of processes.
func (p pace) share() (n, processes int) {
	others, theirs := p.page.Others()
	processes = others + 1
	window := p.window()
	return max(1, int(window)/processes, int(window)-int(theirs)), processes
}

// rise allows a little more at once; and one more, until there are half of those that a
// failure has first halved: an outage that has ended is no reason to be slow.
func (p pace) rise() {
	high := math.Float64frombits(uint64(p.page.Common(highBits).Load()))
	change(p.page.Common(windowBits), func(int64) int64 {
		w := p.window()
		more := max(rise, 1/w)
		if w < high/2 {
			more = 1
		}
		return int64(math.Float64bits(min(w+more, mostAtOnce)))
	})
}

// halve allows half as many, unless that was done since a request was sent: requests that
// were sent at the same time fail for one reason.
func (p pace) halve(sent time.Time) {
	cut := p.page.Common(cutAt)
	if last := cut.Load(); sent.UnixNano() <= last || !cut.CompareAndSwap(last, time.Now().UnixNano()) {
		return
	}
	w := p.window()
	change(p.page.Common(highBits), func(was int64) int64 {
		if w < math.Float64frombits(uint64(was))/2 {
			return was
		}
		return int64(math.Float64bits(w))
	})
	change(p.page.Common(windowBits), func(int64) int64 { return int64(math.Float64bits(max(1, p.window()/2))) })
}

// pause has nothing sent for a time, longestAsked at most. A later end that is noted is
// of a clock that was set back.
func (p pace) pause(wait time.Duration) {
	now := time.Now()
	to, most := now.Add(min(wait, longestAsked)).UnixNano(), now.Add(longestAsked).UnixNano()
	change(p.page.Common(pausedTo), func(was int64) int64 {
		if was > most {
			return to
		}
		return max(to, was)
	})
}

// paused returns the time for which nothing is sent. No pause is longer than a host may
// ask for: the clock may have been set back since.
func (p pace) paused() time.Duration {
	left := time.Duration(p.page.Common(pausedTo).Load() - time.Now().UnixNano())
	if left < 0 || left > longestAsked {
		return 0
	}
	return left
}

func change(n *atomic.Int64, to func(was int64) int64) {
	for was := n.Load(); !n.CompareAndSwap(was, to(was)); was = n.Load() {
	}
}
