package pipe

import (
	"context"

	"github.com/headrace/headrace/pipe/internal/worker"
)

// Ungated calls f, which waits for something, within an operation: without the permit
// that this holds, so that others may run meanwhile. After it the operation has a permit
// again. The error is that of f, or of the context, when the run was stopped.
func Ungated(ctx context.Context, f func() error) error {
	w, inside := worker.Of(ctx)
	if !inside || w.Permit.Permit < 0 {
		return f()
	}
	w.LeaveGate()
	err := f()
	if !w.EnterGate() {
		return context.Cause(ctx)
	}
	return err
}

// InGate calls f, which computes, within an operation of a stage that has no gate because
// it waits: with a permit of this one. An operation that holds a permit already goes on
// with that. The error is that of f, or of the context, when the run was stopped.
func InGate(ctx context.Context, g *Gate, f func() error) error {
	w, inside := worker.Of(ctx)
	if !inside || g == nil || w.Permit.Permit >= 0 {
		return f()
	}
	before := w.Gate
	w.Gate = g
	defer func() { w.Gate = before }()
	if !w.EnterGate() {
		return context.Cause(ctx)
	}
	defer w.LeaveGate()
	return f()
}
