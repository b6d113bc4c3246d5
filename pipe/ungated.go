package pipe

import "context"

// Ungated calls f, which waits for something, within an operation: without the permit that this holds, so that others may run meanwhile. Behind it
// the operation has a permit again. The error is that of f, or of the context, when the run was stopped.
func Ungated(ctx context.Context, f func() error) error {
	w, inside := ctx.Value(workerKey{}).(*worker)
	if !inside || w.permit < 0 {
		return f()
	}
	w.leave()
	err := f()
	if !w.enter() {
		return context.Cause(ctx)
	}
	return err
}
