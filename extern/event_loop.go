package extern

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/headrace/headrace/extern/internal/conn"
	"github.com/headrace/headrace/wire"
)

// eventLoop is the event loop of a worker. It has a connection of its own, on which each
// call in flight has a caller and a stream. So at most as many calls run at once as there
// are callers for the function.
type eventLoop struct {
	process *process
	streams *conn.Streams
	serving sync.WaitGroup

	mu      sync.Mutex         // guards the fields below
	cells   []byte             // in the heap, one for each caller; nil until the first one
	callers map[uint32]*caller // by stream
	begun   bool               // callers are serving
	ended   bool               // no more callers may be added
}

// spread starts enough callers for the function's calls to run concurrently, as many as
// its pool wants.
func (lp *eventLoop) spread(fn *function, has installed) error {
	q := &lp.process.team.queue
	lp.mu.Lock()
	defer lp.mu.Unlock()
	if lp.ended {
		return nil
	}
	if err := lp.open(); err != nil {
		return err
	}

	there := 0
	for _, c := range lp.callers {
		if c.only == fn {
			there++
		}
	}
	n := q.Abreast(&fn.backlog)
	for there < n && lp.add(fn, has, there) != nil {
		there++
	}
	if err := lp.streams.Failure(); err != nil {
		return err
	}
	if there == 0 {
		return &StartError{Stage: fn.Stage, Cause: fmt.Errorf("more than %d calls of async "+
			"functions would run beside each other in a process", mostCoroutines)}
	}

	q.UseEventLoop(&lp.process.entry, &fn.backlog)
	return nil
}

// open sends the worker the address of the callers' cells. The caller holds mu.
func (lp *eventLoop) open() error {
	if lp.cells != nil {
		return nil
	}
	heap := lp.process.team.heap
	cells := heap.Take(mostCoroutines * cellBytes)
	at, ok := heap.Offset(cells)
	if !ok {
		heap.Give(cells)
		return errors.New("extern: the heap has no room")
	}
	if err := lp.streams.Send(wire.KindRoom, 0, binary.LittleEndian.AppendUint64(nil, uint64(at))); err != nil {
		heap.Give(cells)
		return err
	}
	lp.cells = cells
	lp.process.watchers.Go(func() {
		if err := lp.streams.Read(); errors.Is(err, wire.ErrProtocol) {
			lp.process.Kill()
		}
	})
	return nil
}

// add creates the function's caller with that number, or returns nil if no stream is
// free. The caller holds mu.
func (lp *eventLoop) add(fn *function, has installed, number int) *caller {
	stream, inbox := lp.streams.Open()
	if stream == 0 {
		return nil
	}
	cell := cell(lp.cells[stream*cellBytes:][:cellBytes])
	clear(cell)
	c := newCaller(lp.process, lp.streams.Conn, number, cell)
	c.loop, c.only, c.pack.Stream, c.inbox = lp, fn, stream, inbox
	c.entry.Backlog = &fn.backlog
	c.knows[fn.Number] = &knowledge{installed: has, pace: 1}
	lp.callers[stream] = c
	if lp.begun {
		lp.begin(c)
	}
	return c
}

func (lp *eventLoop) begin(c *caller) {
	lp.serving.Go(func() {
		c.serve()
		lp.mu.Lock()
		delete(lp.callers, c.pack.Stream)
		lp.mu.Unlock()
		lp.streams.Free(c.pack.Stream)
	})
}

// start lets callers work, those that exist and those added later.
func (lp *eventLoop) start() {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	lp.begun = true
	for _, c := range lp.callers {
		lp.begin(c)
	}
}

// wait waits until all callers have ended, and prevents new ones from starting.
func (lp *eventLoop) wait() {
	lp.mu.Lock()
	lp.ended = true
	lp.mu.Unlock()
	lp.serving.Wait()
}

// forget tells the event loop of removals, if there is one.
func (lp *eventLoop) forget(news []removal) error {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	if lp.cells == nil {
		return nil
	}
	return tellRemovals(lp.streams.Conn, news)
}

// of returns the callers of a function.
func (lp *eventLoop) of(fn *function) (all []*caller) {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	for _, c := range lp.callers {
		if c.only == fn {
			all = append(all, c)
		}
	}
	return all
}

// inWork returns the number of calls that the worker has begun and not ended.
func (lp *eventLoop) inWork() (n int) {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	for _, c := range lp.callers {
		if _, _, ok := c.inWork(); ok {
			n++
		}
	}
	return n
}

func (lp *eventLoop) close() { lp.process.team.heap.Give(lp.cells) }
