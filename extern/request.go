package extern

import (
	"context"
	"sync"

	"github.com/headrace/headrace/extern/internal/pack"
	"github.com/headrace/headrace/extern/internal/queue"
)

// request is a call of a function.
type request struct {
	pack.Task
	function *function
}

// job is a request in the queue.
type job = queue.Job[request]

var jobs = sync.Pool{New: func() any { return queue.NewJob[request]() }}

// job makes one of a call, that is still to be put into the queue.
func (fn *function) job(ctx context.Context, c *Call) *job {
	j := jobs.Get().(*job)
	j.Of.function, j.Of.Call, j.Of.Ctx = fn, c, ctx
	j.Backlog, j.Ctx = &fn.backlog, ctx
	j.Alone, j.Bytes = j.Of.Alone(), j.Of.Small(fn.Heap)
	return j
}

// forget keeps a job for another call. Nobody else has it any more.
func forget(j *job) {
	j.Reset()
	jobs.Put(j)
}
