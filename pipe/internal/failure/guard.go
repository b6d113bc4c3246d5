package failure

import (
	"context"
	"runtime/debug"
)

// Call runs an operation on an item. A panic is its error.
func Call[In, Out any](ctx context.Context, f func(context.Context, In) (Out, error), in In) (out Out, err error) {
	returned := false // most do: they are not to pay for recover
	defer func() {
		if returned {
			return
		}
		if p := recovered(recover()); p != nil {
			err = p
		}
	}()
	out, err = f(ctx, in)
	returned = true
	return out, err
}

// guard is call for the functions that a stage calls besides its operation.
func guard(f func() error) error { return Guarded(f, func() {}) }

// Guarded is guard with something to do before f ends the goroutine, as runtime.Goexit
// and a test's FailNow do. Nothing can keep it from ending.
func Guarded(f func() error, exit func()) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if err = recovered(recover()); err == nil {
			exit()
		}
	}()
	err = f()
	returned = true
	return err
}

// InOwnGoroutine is guard in a goroutine of its own, for functions whose caller has to go
// on even where they end their goroutine. It is too slow for every item.
func InOwnGoroutine(f func() error) error {
	over := make(chan error, 1)
	go func() {
		err := error(ErrGoexit)
		defer func() { over <- err }()
		err = guard(f)
	}()
	return <-over
}

// recovered makes an error of what recover returned. It is called in the deferred
// function itself, so that the stack still shows where the panic began.
func recovered(value any) error {
	if value == nil {
		return nil
	}
	return &PanicError{Value: value, Stack: debug.Stack()}
}
