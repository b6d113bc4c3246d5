package pipe

import (
	"context"

	"github.com/headrace/headrace/pipe/internal/worker"
)

// WaitBlocked calls f, which waits within an operation for room for what this makes:
// until others after it give some back. That is no time of the operation's, but one in
// which its stage is blocked, and it holds no permit of the gate meanwhile: others may
// need one to give room back. The error is that of f, or why the run has ended.
func WaitBlocked(ctx context.Context, f func() error) error {
	w, inside := worker.Of(ctx)
	if !inside {
		return f()
	}
	w.WaitWithin(&w.Blocked)
	return Ungated(ctx, func() error {
		defer w.Tick(&w.Blocked)
		return f()
	})
}
