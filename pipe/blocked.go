package pipe

import (
	"context"

	"headrace/pipe/internal/worker"
)

// WaitBlocked calls f, which waits within an operation for room for what this makes:
// until others behind it give some back. That is no time of the operation's, but one in
// which its stage is blocked. The error is that of f.
func WaitBlocked(ctx context.Context, f func() error) error {
	w, inside := worker.Of(ctx)
	if !inside {
		return f()
	}
	if w.Set.Elsewhere {
		w.Reported.Store(true) // whoever works elsewhere has told of all that it did for the operation
	}
	w.BeforeWait(&w.Blocked)
	w.Interrupt()
	w.WaitsFor(&w.Blocked) // from now on: the clock was read once more
	err := f()
	w.Tick(&w.Blocked)
	return err
}
