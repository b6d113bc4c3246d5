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

// InGate calls f, which computes, within an operation of a stage that has no gate because it waits: with a permit of this one. An operation that holds
// a permit already goes on with that. The error is that of f, or of the context, when the run was stopped.
func InGate(ctx context.Context, g *Gate, f func() error) error {
	w, inside := ctx.Value(workerKey{}).(*worker)
	if !inside || g == nil || w.permit >= 0 {
		return f()
	}
	before := w.gate
	w.gate = g
	defer func() { w.gate = before }()
	if !w.enter() {
		return context.Cause(ctx)
	}
	defer w.leave()
	return f()
}
