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

// spread starts enough callers for the pool's calls to run concurrently, as many as the
// pool wants.
func (lp *eventLoop) spread(p *Pool, has installed) error {
	q := &lp.process.workers.queue
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
		if c.pool == p {
			there++
		}
	}
	n := q.Abreast(&p.backlog)
	for there < n && lp.add(p, has, there) != nil {
		there++
	}
	if err := lp.streams.Failure(); err != nil {
		return err
	}
	if there == 0 {
		return &StartError{Stage: p.o.Stage, Cause: fmt.Errorf("more than %d calls of async functions would run beside each other in a process", mostCoroutines)}
	}

	q.UseEventLoop(&lp.process.entry, &p.backlog)
	return nil
}

// open sends the worker the address of the callers' cells. The caller holds mu.
func (lp *eventLoop) open() error {
	if lp.cells != nil {
		return nil
	}
	heap := lp.process.workers.heap
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

// add creates the pool's caller with that number, or returns nil if no stream is free.
// The caller holds mu.
func (lp *eventLoop) add(p *Pool, has installed, number int) *caller {
	stream, inbox := lp.streams.Open()
	if stream == 0 {
		return nil
	}
	cell := cell(lp.cells[stream*cellBytes:][:cellBytes])
	clear(cell)
	c := newCaller(lp.process, lp.streams.Conn, number, cell)
	c.loop, c.pool, c.pack.Stream, c.inbox = lp, p, stream, inbox
	c.entry.Backlog = &p.backlog
	c.knows[p.function.Number] = &knowledge{installed: has, pace: 1}
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

// of returns the callers of a pool.
func (lp *eventLoop) of(p *Pool) (all []*caller) {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	for _, c := range lp.callers {
		if c.pool == p {
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

func (lp *eventLoop) close() { lp.process.workers.heap.Give(lp.cells) }
