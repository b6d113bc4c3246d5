package pipe

import (
	"sync"

	"github.com/headrace/headrace/pipe/internal/queue"
	"github.com/headrace/headrace/pipe/internal/worker"
)

// An orderedJoin takes from the branches of a Route in the order in which they were
// chosen. If every message that goes into a branch comes out of it as one, the choices
// are all it needs to know. Otherwise it takes from a branch up to the router's turn.
type orderedJoin[T any] struct {
	*mergeStage[T]
	choices *choices[int]
	turns   int32 // the number of the router, if it sends any; 0: it sends none
	at      int   // the branch whose turn has not come yet, or none
	ending  int   // the branch whose end of the epoch has not come yet, or none
}

const none = -1 // of the branches

func (j *orderedJoin[T]) work(w *worker.Worker) { j.join(w, j.next) }

// join hands on message after message, each of which next takes from the branches.
func (m *mergeStage[T]) join(w *worker.Worker, next func(*worker.Worker) (queue.Message[T], bool)) {
	for m.out.Reserve(w) {
		v, ok := next(w)
		if !ok {
			return
		}
		if v.Kind == queue.Item {
			w.Out.Add(1)
		}
		if v.Kind == queue.Fatal {
			m.haltAbove()
		}
		w.TimeItem()
		m.out.Put(&v, w.Last)
		if v.Kind == queue.Fatal || v.Last {
			return
		}
	}
}

func (j *orderedJoin[T]) next(w *worker.Worker) (m queue.Message[T], ok bool) {
	if j.turns > 0 {
		return j.nextInTurn(w)
	}
	choice, ok := j.choices.take(w)
	if !ok {
		return m, false
	}
	if choice == allBranches {
		return j.takeEnd(w)
	}
	if m, ok = j.take(w, j.inputs[choice]); m.Kind == queue.Item {
		w.In.Add(1)
	}
	return m, ok
}

// nextInTurn is next with branches that make any number of messages of one.
func (j *orderedJoin[T]) nextInTurn(w *worker.Worker) (m queue.Message[T], ok bool) {
	for {
		if j.ending >= 0 {
			return j.nextOfEnd(w)
		}
		if j.at == none {
			if j.at, ok = j.choices.take(w); !ok {
				return m, false
			}
			if j.at == allBranches {
				j.at, j.ending = none, 0
				continue
			}
		}
		if m, ok = j.take(w, j.inputs[j.at]); !ok || m.Kind != queue.Turn || m.Turn != j.turns {
			if m.Kind == queue.Item {
				w.In.Add(1)
			}
			return m, ok
		}
		j.at = none
	}
}

// nextOfEnd takes the outputs of the branches at the end of an epoch, one by one, and
// then that end.
func (j *orderedJoin[T]) nextOfEnd(w *worker.Worker) (m queue.Message[T], ok bool) {
	for j.ending < len(j.inputs) {
		in := j.inputs[j.ending]
		if m, ok = j.take(w, in); !ok {
			return m, false
		}
		if m.Kind != queue.Mark && m.Kind != queue.Fatal {
			if m.Kind == queue.Item {
				w.In.Add(1)
			}
			return m, true
		}
		j.note(in, m)
		j.ending++
	}
	j.ending = none
	return j.endEpoch(), true
}

// takeEnd takes the end of the epoch from all branches.
func (m *mergeStage[T]) takeEnd(w *worker.Worker) (end queue.Message[T], ok bool) {
	for _, in := range m.inputs {
		v, ok := m.take(w, in)
		if !ok {
			return v, false
		}
		m.note(in, v)
	}
	return m.endEpoch(), true
}

func (m *mergeStage[T]) take(w *worker.Worker, in *mergeInput[T]) (v queue.Message[T], ok bool) {
	var buf [1]queue.Message[T]
	h := in.ring.Take(w, buf[:])
	return buf[0], len(h.Msgs) > 0
}

// Choices are what a router has decided, and the join after it has not heard of yet.
// They are no more than messages are in the branches.
type choices[C any] struct {
	mu      sync.Mutex
	ready   sync.Cond
	all     []C
	stopped bool
}

// allBranches is the choice of what ends an epoch, or the run.
const allBranches = -1

func newChoices[C any]() *choices[C] {
	c := new(choices[C])
	c.ready.L = &c.mu
	return c
}

func (c *choices[C]) add(choice C) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, choice)
	c.ready.Signal()
}

// take waits for a choice. It returns false when the stage was stopped.
func (c *choices[C]) take(w *worker.Worker) (choice C, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 && !c.stopped {
		w.BeforeWait(&w.Starved)
		for len(c.all) == 0 && !c.stopped {
			c.ready.Wait()
		}
		w.Tick(&w.Starved)
	}
	if c.stopped {
		return choice, false
	}
	choice = c.all[0]
	c.all = c.all[1:]
	return choice, true
}

func (c *choices[C]) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.ready.Broadcast()
}
