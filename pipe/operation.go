package pipe

import (
	"context"
	"time"

	"github.com/headrace/headrace/pipe/internal/worker"
)

// Permit returns the number of the permit that the operation with this context holds:
// from 0 up to the limit of the stage's Gate, and nobody else's meanwhile. It is -1 for a
// stage without a gate, and beyond the limit only while an operation that Limit has
// abandoned keeps a number.
func Permit(ctx context.Context) int {
	if w, ok := worker.Of(ctx); ok {
		return w.Permit.Permit
	}
	return -1
}

// AddBytes lets an operation report how many bytes it read or made; the sum is in its
// stage's statistics. Outside of an operation it does nothing.
func AddBytes(ctx context.Context, n int64) {
	if w, ok := worker.Of(ctx); ok {
		w.Bytes.Add(n)
	}
}

// Worked lets an operation of a stage whose workers are elsewhere (OnResize) report for
// how long one of them worked for it. The rest of its time it waited for one. Outside of
// such an operation it does nothing.
func Worked(ctx context.Context, d time.Duration) {
	if w, ok := worker.Of(ctx); ok && w.Set.Elsewhere {
		w.Worked.Add(int64(d))
	}
}
