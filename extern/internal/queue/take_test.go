package queue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// hall is a queue with processes of some callers each, as those who start processes make
// them.
type hall struct {
	Queue[string]
	backlogs  []*Backlog[string]
	processes []*Process[string]
}

func newHall(processes, callers int, wanted ...int) *hall {
	h := &hall{}
	h.Init(4, 100)
	for range processes {
		h.processes = append(h.processes, &Process[string]{Slot: &Slot{Index: len(h.processes), Threads: callers}, Kill: func() {}})
		h.Renew(h.processes[len(h.processes)-1].Slot)
	}
	for _, n := range wanted {
		b := new(Backlog[string])
		h.Open(b, n, false)
		h.backlogs = append(h.backlogs, b)
	}
	h.Divide(0, false, processes*callers)
	return h
}

func (h *hall) put(backlog int, names ...string) (all []*Job[string]) {
	for _, name := range names {
		j := NewJob[string]()
		j.Of, j.Backlog, j.Ctx, j.Bytes = name, h.backlogs[backlog], context.Background(), 10
		all = append(all, j)
	}
	h.Put(all...)
	return all
}

func (h *hall) caller(process, caller int) *Caller[string] {
	return &Caller[string]{Process: h.processes[process], Index: caller, Most: func(*string) int { return 64 }}
}

func (h *hall) take(process, caller int) []*Job[string] {
	jobs, _ := h.Take(nil, h.caller(process, caller))
	return jobs
}

func names(jobs []*Job[string]) (all []string) {
	for _, j := range jobs {
		all = append(all, j.Of)
	}
	return all
}

// The oldest job's backlog comes first. Each caller takes a share of it, so that others
// have some too, and one that travels alone does.
func TestShares(t *testing.T) {
	h := newHall(1, 2, 2, 1)
	h.put(0, "a", "b", "c", "d")
	h.put(1, "x")[0].Alone = true
	h.put(1, "y")
	for i, want := range [][]string{{"a", "b"}, {"c"}, {"d"}, {"x"}, {"y"}} {
		if got := names(h.take(0, 0)); !slices.Equal(got, want) {
			t.Errorf("pack %d is %v, want %v", i, got, want)
		}
	}
}

// Jobs of many bytes travel with fewer others.
func TestBytesOfAPack(t *testing.T) {
	h := newHall(1, 1, 1)
	for _, j := range h.put(0, "a", "b", "c") {
		j.Bytes = 101
	}
	if got := names(h.take(0, 0)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v travel together", got)
	}
}

// A caller beyond those of its backlog waits until it is wanted.
func TestLanesOfALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(2, 1, 1)
		h.put(0, "a")
		taken := make(chan []string)
		go func() { taken <- names(h.take(1, 0)) }()
		synctest.Wait()
		select {
		case got := <-taken:
			t.Errorf("the second caller takes %v of a backlog for one", got)
		default:
		}
		h.Want(h.backlogs[0], 2)
		h.Divide(0, false, 2)
		if got := <-taken; !slices.Equal(got, []string{"a"}) {
			t.Errorf("it takes %v", got)
		}
	})
}

// Backlogs share callers, or have their own, or go round among a fixed number.
func TestDivide(t *testing.T) {
	for name, c := range map[string]struct {
		fixed int
		apart bool
		total int
		want  [][2]int
	}{
		"shared": {0, false, 3, [][2]int{{0, 2}, {0, 3}, {0, 1}}},
		"apart":  {0, true, 6, [][2]int{{0, 2}, {2, 5}, {5, 6}}},
		"fixed":  {4, false, 4, [][2]int{{0, 2}, {0, 3}, {3, 4}}},
	} {
		h := newHall(1, 1, 2, 3, 1)
		if total := h.Divide(c.fixed, c.apart, 0); total != c.total {
			t.Errorf("%s: there are %d callers, want %d", name, total, c.total)
		}
		for i, b := range h.backlogs {
			if got := [2]int{b.first, b.end}; got != c.want[i] {
				t.Errorf("%s: backlog %d has callers %v, want %v", name, i, got, c.want[i])
			}
		}
	}
}

// What was in work when a process died goes alone to one that has done nothing else: a
// process that has makes room for it, and its callers take nothing meanwhile.
func TestSuspects(t *testing.T) {
	h := newHall(1, 1, 1)
	h.put(0, "a", "b")
	old := h.processes[0]
	jobs := h.take(0, 0)
	jobs[0].Suspect = true
	h.PutBack(jobs)
	if got := names(h.take(0, 0)); got != nil || !old.renewed {
		t.Fatalf("a process that has worked takes %v, and is to end: %v", got, old.renewed)
	}

	h.Gone(old)
	h.processes[0] = &Process[string]{Slot: old.Slot}
	got := h.take(0, 0)
	if !slices.Equal(names(got), []string{"a"}) || !got[0].First {
		t.Fatalf("a new process takes %v first: %v", names(got), got[0].First)
	}
	h.Complete(got[0], nil)
	if got := names(h.take(0, 0)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("then it takes %v", got)
	}
}

// A job that nobody waits for any more is not done, and one that a caller has can be
// killed.
func TestWithdraw(t *testing.T) {
	h := newHall(1, 1, 1)
	killed := 0
	h.processes[0].Kill = func() { killed++ }
	a := h.put(0, "a")[0]
	if !h.Withdraw(a) {
		t.Error("what waits cannot be withdrawn")
	}
	b := h.put(0, "b")[0]
	h.Kill(b)
	h.take(0, 0)
	if h.Withdraw(b) || killed != 0 {
		t.Errorf("what a caller has is withdrawn, or killed %d times before", killed)
	}
	if h.Kill(b); killed != 1 {
		t.Errorf("its process is killed %d times", killed)
	}
}

// All callers are called once, whether they wait or have jobs before them, and go on.
func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, 2, 2)
		waits, busy := h.caller(0, 0), h.caller(0, 1)
		called := make(chan bool)
		go func() {
			jobs, more := h.Take(nil, waits)
			called <- more && len(jobs) == 0
		}()
		synctest.Wait()
		h.Call()
		if !<-called {
			t.Error("a caller that waits was not called")
		}
		if jobs, more := h.Take(nil, busy); len(jobs) > 0 || !more {
			t.Errorf("a caller that comes later has %d jobs, more: %v", len(jobs), more)
		}
		h.put(0, "a", "b")
		for _, c := range []*Caller[string]{waits, busy} {
			if jobs, more := h.Take(nil, c); len(jobs) != 1 || !more {
				t.Errorf("a caller that was called has %d jobs, more: %v", len(jobs), more)
			}
		}
		h.Retire(waits.Process.Slot)
		if _, more := h.Take(nil, waits); more {
			t.Error("a caller of a process that is to end goes on")
		}
	})
}
