package extern_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/leak"
)

// user is somebody who has joined workers.
type user struct {
	t       *testing.T
	name    string
	heap    *extern.Heap
	workers *extern.Workers
	pool    *extern.Pool
	said    notes
}

func join(t *testing.T, name string, set extern.Set) *user {
	t.Helper()
	python := interpreter(t)
	heap, err := extern.CommonHeap()
	if err != nil {
		t.Fatal(err)
	}
	u := &user{t: t, name: name, heap: heap}
	python.Functions = map[string][]byte{"functions:double": []byte("cfunctions\ndouble\n.")}
	u.workers = extern.Join(set, python.Of(set), heap)
	u.pool, err = extern.Open(extern.Options{Stage: name, Function: "functions:double", Kind: extern.Map, Interpreter: python.Of(set), Heap: heap,
		Workers: set.Processes, On: u.workers, User: u, In: intField, Gives: intField, Log: u.said.add})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// doubles calls the user's function.
func (u *user) doubles(n int64) {
	u.t.Helper()
	c := &extern.Call{Key: u.name, In: []extern.Value{number(n)}}
	if err := u.pool.Call(context.Background(), c); err != nil {
		u.t.Fatalf("%s: %v", u.name, err)
	}
	if got := c.Out[0].Data[0]; got != byte(2*n) {
		u.t.Errorf("%s: %d doubled is %d", u.name, n, got)
	}
	u.heap.Give(c.Out[0].Data)
}

func (u *user) leave() {
	u.t.Helper()
	if err := u.pool.Close(); err != nil {
		u.t.Error(err)
	}
	if err := u.workers.Leave(u); err != nil {
		u.t.Error(err)
	}
	if err := u.heap.Close(); err != nil {
		u.t.Error(err)
	}
}

// Users come and go, the first one before the others; processes live as long as somebody
// uses them, and the heap has nothing of those who have left.
func TestJoin(t *testing.T) {
	leak.Check(t)
	set := extern.Set{Name: t.Name(), Processes: 2, Threads: 1}
	first, stays := join(t, "first", set), join(t, "stays", set)
	first.doubles(21)
	stays.doubles(4)
	pids := stays.pool.Stats().PIDs
	first.leave()
	stays.doubles(5) // after which a worker has forgotten him
	held := stays.heap.Held()
	for i := range 20 {
		other := join(t, "other", set)
		other.doubles(int64(i))
		other.leave()
		stays.doubles(int64(i))
	}
	if got := stays.heap.Held(); got > held {
		t.Errorf("after 20 users %d bytes of the heap are in use, and %d before", got, held)
	}
	if got := stays.pool.Stats().PIDs; !slices.Equal(got, pids) {
		t.Errorf("the processes are %v, and were %v", got, pids)
	}
	stays.leave()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d is there when all have left: %v", pid, err)
		}
	}
	if n := stays.heap.Held(); n != 0 {
		t.Errorf("%d bytes of the heap are in use at the end", n)
	}
}

// Where processes cannot begin, who comes later tries again.
func TestJoinAfterFailure(t *testing.T) {
	leak.Check(t)
	set := extern.Set{Name: t.Name(), Processes: 1, Threads: 1, Environment: map[string]string{"PYTHONHOME": "/nowhere"}}
	first := join(t, "first", set)
	err := first.pool.Call(context.Background(), &extern.Call{In: []extern.Value{number(1)}})
	if err == nil || !strings.Contains(err.Error(), "first") {
		t.Errorf("workers that cannot begin: %v", err)
	}
	set.Environment = nil
	second := join(t, "second", set)
	second.doubles(3)
	first.leave()
	second.doubles(4)
	second.leave()
}
