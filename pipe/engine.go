package pipe

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// An engine is the part of a run that has no types: its stages, its goroutines, its clock.
type engine struct {
	began  time.Time
	ended  atomic.Int64 // nanoseconds from began to Close
	ctx    context.Context
	cancel context.CancelFunc
	stages []*stage // from the source on
	wg     sync.WaitGroup
	unhook func() // forgets the context that Start was given

	crashed atomic.Pointer[StageError]

	mu         sync.Mutex
	complaints []error // what went wrong where nothing could be done about it
}

func newEngine(ctx context.Context) *engine {
	e := &engine{began: time.Now()}
	e.ctx, e.cancel = context.WithCancel(ctx)
	return e
}

// now is the time since the run began.
func (e *engine) now() time.Duration { return time.Since(e.began) }

func (e *engine) elapsed() time.Duration {
	if ended := e.ended.Load(); ended > 0 {
		return time.Duration(ended)
	}
	return e.now()
}

// goes starts a worker. This is the one place where a goroutine of a run begins.
func (e *engine) goes(w *worker, work func(*worker)) {
	e.wg.Go(func() {
		returned := false
		defer func() {
			if !returned {
				e.crash(w.stage)
			}
		}()
		work(w)
		returned = true
	})
}

// crash ends the run after an operation has ended its goroutine: the worker is gone, and with it the place of its item.
func (e *engine) crash(s *stage) {
	e.crashed.CompareAndSwap(nil, &StageError{Stage: s.name, Epoch: -1, Pos: -1, Err: errGoexit})
	e.halt()
}

func (e *engine) complain(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.complaints = append(e.complaints, err)
}

// watch stops the run when ctx ends.
func (e *engine) watch(ctx context.Context) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		e.halt()
	})
	e.unhook = func() {
		if !stop() {
			<-done
		}
	}
}

// halt stops everything. Nothing more comes out of the last queue.
func (e *engine) halt() {
	e.cancel()
	e.stages[len(e.stages)-1].halt()
}

// close stops everything, waits until it has stopped, and discards what is left.
func (e *engine) close() error {
	e.halt()
	e.unhook()
	e.wg.Wait()
	e.ended.Store(int64(e.now()))
	for _, s := range e.stages {
		s.queue.drain()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.complaints...)
}
