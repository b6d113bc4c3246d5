package queue

import (
	"context"
	"errors"
	"testing"
)

// A job that is finished belongs to who has waited for it, who may use it for another
// call at once: what is put back must not hold on to it.
func TestFinishedJobsAreNotPutBack(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{"the pool has failed": errors.New("closed"), "nobody waits any more": nil} {
		for range 2000 {
			q := Queue[int]{err: err}
			q.Init(64, 1000)
			again, backlog := make([]*Job[int], 8), new(Backlog[int])
			for i := range again {
				j := NewJob[int]()
				j.Backlog, j.Ctx, j.place = backlog, over, running
				again[i] = j
				go func() {
					<-j.Done()
					j.Reset()
				}()
			}
			q.PutBack(again)
			if n := len(backlog.waiting); n != 0 {
				t.Fatalf("%s: %d jobs wait", name, n)
			}
		}
	}
}
