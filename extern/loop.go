package extern

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"headrace/extern/internal/link"
	"headrace/wire"
)

// loop is the event loop of a worker. It has a connection of its own, on which each call
// in flight has a lane: a stream of the connection. So there are exactly as many calls in
// flight as there are lanes that may call the function.
type loop struct {
	process *process
	streams *link.Streams
	serving sync.WaitGroup

	mu    sync.Mutex       // guards what is below
	cells []byte           // in the heap, one for each lane; nil: there was no lane yet
	lanes map[uint32]*lane // by stream
	begun bool             // lanes work
	ended bool             // there come no more lanes
}

// spread has calls of a pool run beside each other, as many as the pool wants.
func (lp *loop) spread(p *Pool, has installed) error {
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
	for _, l := range lp.lanes {
		if l.pool == p {
			there++
		}
	}
	n := q.Abreast(&p.line)
	for there < n && lp.add(p, has, there) != nil {
		there++
	}
	if err := lp.streams.Failure(); err != nil {
		return err
	}
	if there == 0 {
		return &StartError{Stage: p.o.Stage, Cause: fmt.Errorf("more than %d calls of async functions would run beside each other in a process", mostLanes)}
	}

	q.Loop(&lp.process.seat, &p.line)
	return nil
}

// open tells the worker where the cells of the lanes are. The caller holds mu.
func (lp *loop) open() error {
	if lp.cells != nil {
		return nil
	}
	heap := lp.process.workers.heap
	cells := heap.Take(mostLanes * cellBytes)
	at, ok := heap.Offset(cells)
	if !ok {
		heap.Give(cells)
		return errors.New("extern: the heap has no room")
	}
	if err := lp.streams.Conn.Send(wire.KindRoom, 0, binary.LittleEndian.AppendUint64(nil, uint64(at))); err != nil {
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

// add makes the pool's lane of that number; nil: there are too many. The caller holds mu.
func (lp *loop) add(p *Pool, has installed, number int) *lane {
	stream, inbox := lp.streams.Open()
	if stream == 0 {
		return nil
	}
	cell := cell(lp.cells[stream*cellBytes:][:cellBytes])
	clear(cell)
	l := newLane(lp.process, lp.streams.Link, number, cell)
	l.loop, l.pool, l.pack.Stream, l.inbox = lp, p, stream, inbox
	l.seat.Line = &p.line
	l.knows[p.function.Number] = &knowledge{installed: has, pace: 1}
	lp.lanes[stream] = l
	if lp.begun {
		lp.begin(l)
	}
	return l
}

func (lp *loop) begin(l *lane) {
	lp.serving.Go(func() {
		l.serve()
		lp.mu.Lock()
		delete(lp.lanes, l.pack.Stream)
		lp.mu.Unlock()
		lp.streams.Free(l.pack.Stream)
	})
}

// start has lanes work: those that there are, and those to come.
func (lp *loop) start() {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	lp.begun = true
	for _, l := range lp.lanes {
		lp.begin(l)
	}
}

// wait waits until all lanes have ended, and has no more of them begin.
func (lp *loop) wait() {
	lp.mu.Lock()
	lp.ended = true
	lp.mu.Unlock()
	lp.serving.Wait()
}

// forget tells the event loop of removals, if there is one.
func (lp *loop) forget(news []removal) error {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	if lp.cells == nil {
		return nil
	}
	return tellRemovals(lp.streams.Link, news)
}

// of are the lanes of a pool.
func (lp *loop) of(p *Pool) (all []*lane) {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	for _, l := range lp.lanes {
		if l.pool == p {
			all = append(all, l)
		}
	}
	return all
}

// inWork is how many calls the worker has begun and not ended.
func (lp *loop) inWork() (n int) {
	lp.mu.Lock()
	defer lp.mu.Unlock()
	for _, l := range lp.lanes {
		if _, _, ok := l.inWork(); ok {
			n++
		}
	}
	return n
}

func (lp *loop) close() { lp.process.workers.heap.Give(lp.cells) }
