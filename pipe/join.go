package pipe

import "sync"

// An orderedJoin takes from the branches of a Route in the order in which they were chosen. Every message that goes into a branch comes out of it
// as one, so the choices are all it needs to know.
type orderedJoin[T any] struct {
	*mergeStage[T]
	choices *choices
}

func (j *orderedJoin[T]) work(w *worker) {
	for j.out.reserve(w) {
		m, ok := j.next(w)
		if !ok {
			return
		}
		if m.kind == item {
			w.out.Add(1)
		}
		if m.kind == fatal {
			j.haltAbove()
		}
		w.timeItem()
		j.out.put(m, w.last)
	}
}

func (j *orderedJoin[T]) next(w *worker) (m msg[T], ok bool) {
	choice, ok := j.choices.take(w)
	if !ok {
		return m, false
	}
	if choice != allBranches {
		w.in.Add(1)
		return j.take(w, j.inputs[choice])
	}
	for _, in := range j.inputs {
		m, ok := j.take(w, in)
		if !ok {
			return m, false
		}
		j.note(in, m)
	}
	return j.endEpoch(), true
}

func (j *orderedJoin[T]) take(w *worker, in *mergeInput[T]) (m msg[T], ok bool) {
	var buf [1]msg[T]
	h := in.ring.take(w, buf[:])
	return buf[0], len(h.msgs) > 0
}

// Choices are the branches that messages were sent to. They are no more than messages are in the branches.
type choices struct {
	mu      sync.Mutex
	ready   sync.Cond
	all     []int
	stopped bool
}

// allBranches is the choice of what ends an epoch, or the run.
const allBranches = -1

func newChoices() *choices {
	c := new(choices)
	c.ready.L = &c.mu
	return c
}

func (c *choices) add(branch int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, branch)
	c.ready.Signal()
}

// take waits for a choice. It returns false when the stage was stopped.
func (c *choices) take(w *worker) (branch int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 && !c.stopped {
		w.beforeWait()
		for len(c.all) == 0 && !c.stopped {
			c.ready.Wait()
		}
		w.tick(&w.starved)
	}
	if c.stopped {
		return 0, false
	}
	branch = c.all[0]
	c.all = c.all[1:]
	return branch, true
}

func (c *choices) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.ready.Broadcast()
}
