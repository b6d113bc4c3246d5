package worker

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A wait is what a worker waits for, told when the wait begins and ends. So a snapshot
// counts waits that go on, and work costs nothing more.
type wait struct {
	account atomic.Pointer[atomic.Int64] // the worker's clock that it counts for; nil: the worker works
	since   atomic.Int64                 // nanoseconds of the run; valid where account is not nil
}

// ending stands in the place of an account while a wait is added to it: the wait is
// neither going on nor counted.
var ending atomic.Int64

func (w *wait) begins(account *atomic.Int64, since time.Duration) {
	w.since.Store(int64(since))
	w.account.Store(account)
}

// ends is called before the clock is read that ends the wait: a snapshot that has seen it
// go on was earlier, so clocks never go back.
func (w *wait) ends() { w.account.Store(&ending) }

// over is called when the wait was counted.
func (w *wait) over() { w.account.Store(nil) }

// Of returns the clock of what the worker waits for; nil: it works.
func (w *wait) Of() *atomic.Int64 {
	if account := w.account.Load(); account != &ending {
		return account
	}
	return nil
}

// now returns the wait that goes on. While one is being counted it waits for that: some
// nanoseconds, as a rule.
func (w *wait) now() (account *atomic.Int64, since time.Duration) {
	for account = w.account.Load(); account == &ending; account = w.account.Load() {
		runtime.Gosched()
	}
	return account, time.Duration(w.since.Load())
}
