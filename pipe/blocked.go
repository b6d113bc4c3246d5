package pipe

import "context"

// WaitBlocked calls f, which waits within an operation for room for what this makes: until others behind it give some back. That is no time of the operation's, but one in
// which its stage is blocked. The error is that of f.
func WaitBlocked(ctx context.Context, f func() error) error {
	w, inside := ctx.Value(workerKey{}).(*worker)
	if !inside {
		return f()
	}
	if w.stage.onResize != nil {
		w.reported.Store(true) // whoever works elsewhere has told of all that it did for the operation
	}
	w.beforeWait(&w.blocked)
	w.interrupt()
	w.waitsFor(&w.blocked) // from now on: the clock was read once more
	err := f()
	w.tick(&w.blocked)
	return err
}
