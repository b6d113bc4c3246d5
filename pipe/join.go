package pipe

import "sync"

// An orderedJoin takes from the branches of a Route in the order in which they were chosen. Every message that goes into a branch comes out of it
// as one, so the choices are all it needs to know.
type orderedJoin[T any] struct {
	*mergeStage[T]
	choices *choices[int]
}

func (j *orderedJoin[T]) work(w *worker) { j.join(w, j.next) }

// join hands on message after message, each of which next takes from the branches.
func (m *mergeStage[T]) join(w *worker, next func(*worker) (msg[T], bool)) {
	for m.out.reserve(w) {
		v, ok := next(w)
		if !ok {
			return
		}
		if v.kind == item {
			w.out.Add(1)
		}
		if v.kind == fatal {
			m.haltAbove()
		}
		w.timeItem()
		m.out.put(&v, w.last)
		if v.kind == fatal || v.last {
			return
		}
	}
}

func (j *orderedJoin[T]) next(w *worker) (m msg[T], ok bool) {
	choice, ok := j.choices.take(w)
	if !ok {
		return m, false
	}
	if choice == allBranches {
		return j.takeEnd(w)
	}
	if m, ok = j.take(w, j.inputs[choice]); m.kind == item {
		w.in.Add(1)
	}
	return m, ok
}

// takeEnd takes the end of the epoch from all branches.
func (m *mergeStage[T]) takeEnd(w *worker) (end msg[T], ok bool) {
	for _, in := range m.inputs {
		v, ok := m.take(w, in)
		if !ok {
			return v, false
		}
		m.note(in, v)
	}
	return m.endEpoch(), true
}

func (m *mergeStage[T]) take(w *worker, in *mergeInput[T]) (v msg[T], ok bool) {
	var buf [1]msg[T]
	h := in.ring.take(w, buf[:])
	return buf[0], len(h.msgs) > 0
}

// Choices are what a router has decided, and the join behind it has not heard of yet. They are no more than messages are in the
// branches.
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
func (c *choices[C]) take(w *worker) (choice C, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 && !c.stopped {
		w.beforeWait(&w.starved)
		for len(c.all) == 0 && !c.stopped {
			c.ready.Wait()
		}
		w.tick(&w.starved)
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
