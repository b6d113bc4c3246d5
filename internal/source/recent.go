package source

import (
	"sync"

	"github.com/headrace/headrace/order"
)

// Recent has the orders of the last epochs that were asked for: of as many as may have
// samples on their way, which of short epochs are many.
type Recent struct {
	mu    sync.Mutex // guards what is below
	known map[int]order.Sequence
	asked []int // the epochs of these, the oldest first
}

// mostOnTheirWay is more samples than are ever on their way at once.
const mostOnTheirWay = 1 << 16

// Known implements [Order].
func (l *Recent) Known(epoch int) order.Sequence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[epoch]
}

// Keep keeps the order of an epoch, which has so many places.
func (l *Recent) Keep(epoch int, places int64, all order.Sequence) order.Sequence {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[int]order.Sequence{}
	}
	if l.known[epoch] == nil {
		l.asked = append(l.asked, epoch)
	}
	l.known[epoch] = all
	for int64(len(l.asked)) > 3+mostOnTheirWay/max(1, places) {
		delete(l.known, l.asked[0])
		l.asked = l.asked[1:]
	}
	return all
}
