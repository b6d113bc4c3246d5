package extern

import (
	"cmp"
	"errors"
	"fmt"
	"headrace/extern/internal/message"
	"headrace/extern/internal/shared"
	"sync/atomic"
	"time"
	"unsafe"

	"headrace/wire"
)

// lane is one thread of a worker, with a connection of its own: it has one pack at a time.
type lane struct {
	process  *process
	keeper   *keeper
	index    int // in its process
	conn     *wire.Conn
	function atomic.Pointer[Pool] // that it calls
	knows    map[*Pool]*knowledge // of those functions that it has called
	cell     []byte               // in the heap: the number of the pack and of the sample in it that is in work, and since when; of a chain, in which function
	known    map[uint64]bool
	saved    []byte // in the heap: where the worker copies what it is about to give to a function that may change it

	packNumber atomic.Uint32 // of the pack
	reported   atomic.Int64  // samples of it that have come back; very many where there is no pack

	jobs  []*job
	pack  pack
	began time.Time // when it was sent
}

const noPack = int64(1) << 32

func newLane(proc *process, k *keeper, conn *wire.Conn) *lane {
	l := &lane{process: proc, keeper: k, conn: conn, index: len(proc.lanes), cell: proc.workers.heap.Take(shared.Align), known: map[uint64]bool{shared.HeapSpace: true}, knows: map[*Pool]*knowledge{}}
	clear(l.cell)
	l.reported.Store(noPack)
	return l
}

// inWork tells which sample of its pack the lane works on, and since when.
func (l *lane) inWork() (item int, began time.Duration, ok bool) {
	what, since := (*atomic.Uint64)(unsafe.Pointer(&l.cell[0])), (*atomic.Uint64)(unsafe.Pointer(&l.cell[8]))
	for {
		w := what.Load()
		s := since.Load()
		if what.Load() != w {
			continue
		}
		number, at := uint32(w>>32), int64(uint32(w))-1
		if number != l.packNumber.Load() || at < l.reported.Load() {
			return 0, 0, false
		}
		return int(at), time.Duration(s), true
	}
}

// knowledge is what a lane knows of a function.
type knowledge struct {
	installed
	pace int // calls that a pack may have: grows while packs come back quickly, so that a worker does not take what others could begin
}

// number is that of the lane among all of the workers'.
func (l *lane) number() int { return l.keeper.index + l.index }

// most is how many calls of a function a pack may have.
func (l *lane) most(p *Pool) int {
	k := l.knows[p]
	switch {
	case k == nil:
		return 1
	case k.all && p.line.beside:
		return min(p.line.wanted, message.MostCalls)
	case k.all:
		return message.MostCalls
	}
	return k.pace
}

// serve hands packs to the worker until it has died, or is to end.
func (l *lane) serve() {
	q := &l.process.workers.queue
	for {
		l.jobs = q.take(l.jobs[:0], l)
		if len(l.jobs) == 0 {
			return
		}
		p := l.jobs[0].pool
		if err := l.forgotten(l.jobs[0].call); err != nil {
			q.complete(l.jobs[0], err)
			continue
		}

		l.process.last.Store(p)
		l.function.Store(p)
		l.pack.reset(l)
		l.packNumber.Add(1)
		l.reported.Store(0)
		k, err := l.know(p)
		if refused := (*StartError)(nil); errors.As(err, &refused) {
			l.reported.Store(noPack)
			for _, j := range l.jobs {
				q.complete(j, err)
			}
			q.refuse(p, err)
			continue
		}

		l.began = time.Now()
		if err == nil {
			err = l.exchange()
		}
		if err != nil {
			l.bury(err)
			return
		}
		l.reported.Store(noPack)
		each := time.Since(l.began) / time.Duration(len(l.jobs))
		k.pace = min(2*k.pace, message.MostCalls, max(1, int(packTime/max(1, each))))
	}
}

// know has the worker load a function that it has not. A [StartError] says that it cannot.
func (l *lane) know(p *Pool) (*knowledge, error) {
	if k := l.knows[p]; k != nil {
		return k, k.err
	}
	has, err := l.process.install(l, p)
	if err != nil {
		return nil, err
	}
	l.knows[p] = &knowledge{installed: has, pace: 1}
	return l.knows[p], nil
}

// forgotten is an error for a call of an object that a process before this one had.
func (l *lane) forgotten(c *Call) error {
	proc := l.process
	p := l.jobs[0].pool
	if p.o.Kind != Aggregate {
		return nil
	}
	if c.Begin || proc.object { // there is one lane
		proc.object = true
		return nil
	}
	w := proc.workers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == nil {
		return fmt.Errorf("extern: %s has no object yet: the first call begins", p.o.Stage)
	}
	return w.lost
}

// packTime is how long a pack should take: long enough that nobody notices how a worker waits between two of them. Results go back before its end.
const packTime = 20 * time.Millisecond

// exchange sends a pack and receives what comes of it. What was reported is complete even where there is an error.
func (l *lane) exchange() error {
	k := &l.pack
	k.pool().packs.Add(1)
	k.begin(l.packNumber.Load())

	if err := l.announce(); err != nil {
		return err
	}
	if err := l.conn.SendParts(wire.KindPack, 0, k.ints, k.data); err != nil {
		return err
	}

	for {
		f, err := l.conn.Receive()
		if err != nil {
			return err
		}
		switch f.Kind {
		case wire.KindResults:
			last, err := k.results(f.Payload)
			if err != nil {
				return err
			}
			if last {
				return nil
			}
		case wire.KindRoom:
			if err := k.grant(f.Payload); err != nil {
				return err
			}
		case wire.KindError: // of the worker itself, not of the function
			return fmt.Errorf("%w: %s", errWorker, f.Payload)
		default:
			return fmt.Errorf("%w: a worker sent %v", wire.ErrProtocol, f.Kind)
		}
	}
}

var errWorker = errors.New("extern: the worker has given up")

// announce tells the worker of the segments that the pack names and that it does not know.
func (l *lane) announce() error {
	for _, number := range l.pack.segments {
		if l.known[number] {
			continue
		}
		err := l.process.workers.spaces.With(number, func(s shared.Space) error {
			payload := wire.AppendSegment(nil, wire.Segment{ID: uint32(number), Slots: 1, SlotBytes: uint64(len(s.Memory)), Bytes: uint64(len(s.Memory))})
			return l.conn.Send(wire.KindSegment, 0, payload, s.FD)
		})
		if err != nil {
			return err
		}
		l.known[number] = true
	}
	return nil
}

// bury settles what the worker had when it died, or had to be ended for what it sent. The sample that it worked on may be innocent: threads, memory that was spoilt long ago, or somebody else may
// have ended the process. So it is tried once more, alone and first in a new process, and has failed if that one dies too. The others are done again.
func (l *lane) bury(cause error) {
	proc := l.process
	p := l.pack.of
	q := &proc.workers.queue
	if errors.Is(cause, wire.ErrProtocol) {
		proc.Kill()
	}

	select {
	case <-proc.exited:
	case <-time.After(patience): // it has closed its connection and goes on living
		proc.Kill()
		<-proc.exited
	}

	reported := int(l.reported.Load())
	guilty := -1
	if item, began, ok := l.inWork(); ok && (l.pack.single || item < len(l.jobs)) { // the worker may have written anything
		guilty = item
		if !l.pack.single {
			l.jobs[item].call.Took += min(max(0, monotonic()-began), time.Since(l.began))
		}
	}

	proc.mu.Lock()
	limited, limitedItem := proc.limited, proc.item
	proc.mu.Unlock()

	if l.pack.single {
		guilty = min(guilty, 0) // what it worked on is a part of the one call
	}
	if guilty >= 0 || reported > 0 {
		proc.worked.Store(true)
	}

	first := reported // those before it may be part of other calls already
	if l.pack.single {
		first = 0
	}

	var again []*job
	for i, j := range l.jobs[first:] {
		i += first
		switch {
		case proc.workers.python.Own() != nil: // its function may be in work still, and nobody else can call it
			q.complete(j, cmp.Or(j.ctx.Err(), j.err, cause))
		case errors.Is(cause, wire.ErrProtocol) && (i == max(reported, guilty) || l.pack.single):
			q.complete(j, fmt.Errorf("extern: the worker of %s (process %d) was ended for what it sent: %w", p.o.Stage, proc.PID, cause))
		case j.err != nil: // who reads a stream had enough
			q.complete(j, j.err)
		case l.pack.began && (p.o.Kind == Aggregate || p.o.Kind == Iterate):
			// Only who has the object's state can go on.
			q.complete(j, l.verdict(j, limited))
		case l.pack.all && guilty >= 0 && len(l.jobs) > 1 && (limited == nil || limited == l):
			j.suspect = true
			again = append(again, j)
		case i != guilty:
			again = append(again, j)
		case j.ctx.Err() != nil:
			q.complete(j, j.ctx.Err())
		case limited == l && (limitedItem == i || l.pack.single):
			q.complete(j, l.verdict(j, limited))
		case limited != nil:
			again = append(again, j)
		case p.o.Kind != Aggregate && !(j.suspect && j.first) && l.pack.restore(i):
			j.suspect = true
			again = append(again, j)
		default:
			q.complete(j, l.verdict(j, limited))
		}
	}

	l.pack.release()
	q.putBack(again)
}

// verdict is why the sample has failed that the worker died under.
func (l *lane) verdict(j *job, limited *lane) error {
	p := j.pool
	w := l.process.workers
	switch {
	case j.ctx.Err() != nil:
		return j.ctx.Err()
	case limited == l:
		return &LimitError{Stage: p.o.Stage, PID: l.process.PID, Limit: p.o.Limit, Stack: l.process.Stack()}
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return ErrClosed
	}
	return l.process.failure(l.stageOf(p), j.suspect)
}

// stageOf names the function of a pool that the lane was in: of a chain, its step.
func (l *lane) stageOf(p *Pool) string {
	return p.chain.Step((*atomic.Uint64)(unsafe.Pointer(&l.cell[16])).Load(), p.o.Stage)
}
