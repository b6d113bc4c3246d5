package pipe

import (
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// Lanes bring the outputs of inputs that are worked on at once into a queue. Where order
// is kept, the oldest input's outputs go straight through; of the others, some are held
// until it is their turn, and their workers wait when these are too many. A worker stays
// with its input until it is that one's turn to end, so that there is a lane for each
// worker and no more.
//
// In completion order all go straight through, but for inputs of the next epoch: they
// wait until the mark is through.
type lanes[T any] struct {
	stage *stage
	out   *queue.Ring[T]

	mu      sync.Mutex
	turn    sync.Cond
	lanes   []*lane[T]  // of the inputs from head on, by number; in order only
	several atomic.Bool // there is, or was, more than one worker
	head    int64       // the oldest input that is not through
	epoch   int         // that is going through
	ended   int64       // in completion order, inputs of the epoch that are through
	first   int64       // the number of the epoch's first
	stopped bool

	// Where the workers mean others elsewhere:
	elsewhere     bool
	begun         int64 // inputs that have, in their order
	underWay      int   // sequences that are under way
	maxUnderWay   int   // that may be
	resizePending bool  // onResize is to be called when no more are under way
}

// A lane is one input's.
type lane[T any] struct {
	held     []queue.Message[T]
	flushing bool // a worker hands on what is held
	done     bool // nothing more comes
}

// A turn is an input's place in the order of the stage's input.
type turn struct {
	number int64
	epoch  int
}

func newLanes[T any](s *stage, out *queue.Ring[T]) *lanes[T] {
	l := &lanes[T]{stage: s, out: out, elsewhere: s.inFlight > 1 || s.Elsewhere, maxUnderWay: int(s.Number.Load()) / s.inFlight}
	l.turn.L = &l.mu
	l.widen(int(s.Number.Load()))
	s.onHalt, s.CleanUp = l.stop, l.discardHeld
	s.Set.OnResize = l.resize
	return l
}

// resize changes how many sequences may be under way, and calls onResize. Where more are,
// it is called when enough of them have ended: a worker that goes before could be the one
// that the oldest of them needs, for which all others wait.
func (l *lanes[T]) resize(workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.maxUnderWay = workers
	l.tellOnResize()
	l.turn.Broadcast()
}

// tellOnResize does so unless too many sequences are under way. The lock is held.
func (l *lanes[T]) tellOnResize() {
	if l.resizePending = l.underWay > l.maxUnderWay; !l.resizePending {
		l.stage.resized(l.maxUnderWay)
	}
}

// begin waits until an input may begin, where workers are elsewhere: in the order of the
// inputs, and when fewer sequences are under way than there are workers. So none of these
// is kept by a sequence whose outputs wait for those of one that waits for a worker. It
// returns false when the stage was stopped.
func (l *lanes[T]) begin(w *worker.Worker, at turn, sequence bool) bool {
	if !l.elsewhere {
		return true
	}
	w.BeforeWait(&w.InTurn)
	defer w.Tick(&w.InTurn)
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.stopped && (l.begun != at.number || sequence && l.underWay >= l.maxUnderWay) {
		l.turn.Wait()
	}
	if l.stopped {
		return false
	}
	l.begun++
	if sequence {
		l.underWay++
	}
	l.turn.Broadcast()
	return true
}

// sequenceEnded counts one that has.
func (l *lanes[T]) sequenceEnded() {
	if !l.elsewhere {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underWay--; l.resizePending {
		l.tellOnResize()
	}
	l.turn.Broadcast()
}

// widen makes lanes for so many workers. They are not taken away: a worker too many is on
// one until its input is through.
func (l *lanes[T]) widen(workers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if workers <= len(l.lanes) {
		return
	}
	wider := make([]*lane[T], workers)
	for i := range l.lanes {
		number := l.head + int64(i)
		wider[number%int64(workers)] = l.lane(number)
	}
	for i := range wider {
		if wider[i] == nil {
			wider[i] = new(lane[T])
		}
	}
	l.lanes = wider
	l.several.Store(workers > 1)
}

func (l *lanes[T]) lane(number int64) *lane[T] { return l.lanes[number%int64(len(l.lanes))] }

// pass hands on the last message of an input. It reports whether the stage goes on.
func (l *lanes[T]) pass(w *worker.Worker, at turn, m queue.Message[T]) bool {
	if !l.stage.ordered {
		return l.passAnywhere(w, at, m)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.lane(at.number)
	mine.held = append(mine.held, m)
	mine.done = true
	if l.head == at.number && !mine.flushing {
		l.advance(w)
	}
	l.wait(w, func() bool { return l.head > at.number })
	return !l.stopped
}

// advance hands on what is held, lane by lane, as far as inputs have ended. The lock is
// held, and given up meanwhile.
func (l *lanes[T]) advance(w *worker.Worker) {
	for !l.stopped {
		oldest := l.lane(l.head)
		oldest.flushing = true
		for len(oldest.held) > 0 && !l.stopped {
			m := oldest.held[0]
			oldest.held = oldest.held[1:]
			l.turn.Broadcast()
			l.mu.Unlock()
			l.deliver(w, m)
			l.mu.Lock()
		}
		oldest.flushing = false
		if !oldest.done || l.stopped {
			break
		}
		*oldest = lane[T]{}
		l.head++
	}
	l.turn.Broadcast()
}

// handOn hands on an output, or holds it. It returns false when the stage was stopped.
func (l *lanes[T]) handOn(w *worker.Worker, at turn, m queue.Message[T]) bool {
	if l.several.Load() && !l.admit(w, at, &m) {
		l.out.DiscardMsg(m)
		return false
	}
	if m.Kind == queue.None {
		return true
	}
	permit := w.Permit.Permit
	if permit >= 0 {
		w.Settle() // what comes is not the operation's time
	}
	w.LeaveGate()
	return l.deliver(w, m) && (permit < 0 || w.EnterGate())
}

// admit waits until an output may go into the queue, or takes it into the lane. It
// returns false when the stage was stopped.
func (l *lanes[T]) admit(w *worker.Worker, at turn, m *queue.Message[T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	mine := l.lane(at.number)
	through := func() bool {
		if !l.stage.ordered {
			return l.epoch == at.epoch
		}
		return l.head == at.number && !mine.flushing && len(mine.held) == 0
	}
	room := func() bool { return l.stage.ordered && len(mine.held) < l.stage.node.buffer }

	// Who waits here holds no permit, and who waits for a permit does not hold the lock.
	if !through() && !room() {
		permit := w.Permit.Permit
		w.LeaveGate()
		l.wait(w, func() bool { return through() || room() })
		if permit >= 0 {
			l.mu.Unlock()
			entered := w.EnterGate()
			l.mu.Lock()
			if !entered {
				return false
			}
		}
	}

	if l.stopped {
		return false
	}

	if !through() {
		mine.held = append(mine.held, *m)
		*m = queue.Message[T]{}
	}
	return true
}

// passAnywhere is pass in completion order. What ends an epoch, or the run, waits for as
// many as came before. Where a run is refused, these may be others, that came after.
func (l *lanes[T]) passAnywhere(w *worker.Worker, at turn, m queue.Message[T]) bool {
	l.mu.Lock()
	l.wait(w, func() bool {
		return l.epoch == at.epoch && (m.Kind != queue.Mark && m.Kind != queue.Fatal || l.ended >= at.number-l.first)
	})
	l.mu.Unlock()
	ok := l.deliver(w, m)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended++
	if m.Kind == queue.Mark {
		l.epoch++
		l.first, l.ended = at.number+1, 0
	}
	l.turn.Broadcast()
	return ok && !l.stopped
}

// await waits until all inputs before this one are through.
func (l *lanes[T]) await(w *worker.Worker, at turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait(w, func() bool {
		if l.stage.ordered {
			return l.head == at.number
		}
		return l.epoch == at.epoch && l.ended == at.number-l.first
	})
}

// wait waits until something holds, or the stage was stopped. The lock is held.
func (l *lanes[T]) wait(w *worker.Worker, until func() bool) {
	if until() || l.stopped {
		return
	}
	w.BeforeWait(&w.Blocked)
	for !until() && !l.stopped {
		l.turn.Wait()
	}
	w.Tick(&w.Blocked)
}

func (l *lanes[T]) deliver(w *worker.Worker, m queue.Message[T]) bool {
	if !l.out.Reserve(w) {
		l.out.DiscardMsg(m)
		return false
	}
	if m.Kind == queue.Item {
		w.Out.Add(1)
	}
	l.out.Put(&m, w.Last)
	return true
}

func (l *lanes[T]) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.turn.Broadcast()
}

// discardHeld is called when all workers have left.
func (l *lanes[T]) discardHeld() {
	l.mu.Lock()
	var all []queue.Message[T]
	for _, lane := range l.lanes {
		all = append(all, lane.held...)
		lane.held = nil
	}
	l.mu.Unlock()
	l.out.DiscardAll(all)
}
