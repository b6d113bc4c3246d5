package extern

import (
	"context"
	"testing"
)

// A job that is finished belongs to who has waited for it, who may use it for another
// call at once: what is put back must not hold on to it.
func TestFinishedJobsAreNotPutBack(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{"the pool has failed": ErrClosed, "nobody waits any more": nil} {
		for range 2000 {
			q := queue{err: err}
			q.init()
			again, pool := make([]*job, 8), new(Pool)
			for i := range again {
				j := &job{pool: pool, done: make(chan struct{}, 1), task: task{ctx: over}, place: running}
				again[i] = j
				go func() {
					<-j.done
					*j = job{done: j.done} // as forget does
				}()
			}
			q.putBack(again)
			if n := len(pool.line.waiting); n != 0 {
				t.Fatalf("%s: %d jobs wait", name, n)
			}
		}
	}
}
